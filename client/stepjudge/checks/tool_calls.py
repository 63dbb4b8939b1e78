"""The tool-calls check: whether the attempt called the right tools with the right arguments, as the trace tells it."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, JsonValue, TypeAdapter, ValidationError, model_validator

from stepjudge.checks.check import BadCheck, CannotCheck, Check, CheckEvidence, Finding, Scene
from stepjudge.checks.running.calls import accepts, ordered_matches, paired
from stepjudge.checks.running.clock import Clock, in_thread
from stepjudge.checks.running.condition import shown
from stepjudge.checks.running.query import Query, selected
from stepjudge.trace import Call


def _names_one(call: dict[str, dict[str, list[JsonValue]]]) -> dict[str, dict[str, list[JsonValue]]]:
    if len(call) != 1:
        raise ValueError("an expected call is an object with one key, the tool's name")
    return call


Expected = Annotated[dict[str, dict[str, list[JsonValue]]], AfterValidator(_names_one)]
"""A call as BFCL's `possible_answer` files spell it: `{tool: {parameter: [allowed values]}}`. An empty text among the
allowed values means that the parameter may be left out."""

_EXPECTED = TypeAdapter(tuple[Expected, ...])


class ToolCalls(Check):
    """The calls of one trace. Those of sub-agents are not looked at."""

    kind: Literal["tool-calls"] = "tool-calls"
    expected: tuple[Expected, ...] = ()
    """Calls that must be made, each one separately."""
    reference: Query | None = None
    """Where the task's reference holds the list of expected calls, in place of `expected`."""
    order: bool = False
    """Whether the expected calls must come in that order."""
    others: bool = True
    """Whether other calls may be made beside the expected ones. BFCL does not allow it."""
    strings: Literal["loose", "exact"] = "loose"
    """`loose`, as in BFCL: case, spaces and `,./-_*^` do not matter, and both quotes are one."""
    required: tuple[str, ...] = ()
    """Tools that must be called, whatever the arguments."""
    forbidden: tuple[str, ...] = ()
    """Tools that must not be called."""

    @model_validator(mode="after")
    def _demands_something(self) -> Self:
        if self.expected and self.reference is not None:
            raise ValueError("give either expected or reference")
        if not self.others and self.required:
            raise ValueError("required: with others: false, only expected calls may be made")
        if self.others and not (self.expected or self.reference or self.required or self.forbidden):
            raise ValueError("say what must be called: expected, reference, required, forbidden or others: false")
        return self

    async def run(self, scene: Scene) -> Finding:
        if scene.trace is None:
            raise CannotCheck("the trial has no trace")
        calls = [(f"s{step.index}.c{number}", call) for step, number, call in scene.trace.calls()]
        return await in_thread(lambda clock: self._found(calls, self._expected(scene, clock)))

    def _expected(self, scene: Scene, clock: Clock) -> tuple[Expected, ...]:
        if self.reference is None:
            return self.expected
        found = selected(self.reference, scene.reference, clock)
        if not found:
            raise CannotCheck(f"the task's reference holds nothing at {self.reference}")
        try:
            return _EXPECTED.validate_python(found[0] if len(found) == 1 and isinstance(found[0], list) else found)
        except ValidationError as error:
            raise BadCheck(f"{self.reference} of the reference holds no expected calls: {error.errors()[0]}") from error

    def _found(self, calls: Sequence[tuple[str, Call]], expected: Sequence[Expected]) -> Finding:
        names = {call.name for _, call in calls}
        unmet = [f"{tool!r} was not called" for tool in self.required if tool not in names]
        unmet += [
            f"{place} calls {call.name!r}, which is forbidden" for place, call in calls if call.name in self.forbidden
        ]
        fits = [[accepts(each, call, strings=self.strings) for _, call in calls] for each in expected]
        match = ordered_matches(fits) if self.order else paired(fits, len(calls))
        unmet += [self._missing(each, calls) for number, each in enumerate(expected) if number not in match]
        if not self.others:
            matched = set(match.values())
            unmet += [f"{place} is not expected" for number, (place, _) in enumerate(calls) if number not in matched]
        made = "\n".join(f"{place} {_spelled(call)}" for place, call in calls)
        reason = "; ".join(unmet[:5]) or f"the {len(calls)} calls are as they must be"
        evidence = (CheckEvidence.of("calls", made),) if calls else ()
        return Finding(outcome="fail" if unmet else "pass", reason=reason, evidence=evidence)

    def _missing(self, expected: Expected, calls: Sequence[tuple[str, Call]]) -> str:
        (name,) = expected
        near = [place for place, call in calls if call.name == name]
        where = f" (other calls of it: {', '.join(near[:5])})" if near else ""
        return f"no call {'in its turn ' if self.order else ''}fits {shown(_json(expected))}{where}"


def _json(expected: Expected) -> JsonValue:
    return {name: {key: list(allowed) for key, allowed in parameters.items()} for name, parameters in expected.items()}


def _spelled(call: Call) -> str:
    arguments = call.arguments_raw if call.arguments is None else shown(call.arguments)
    return f"{call.name} {arguments or ''}"
