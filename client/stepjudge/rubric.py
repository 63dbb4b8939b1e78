"""A rubric is a named, versioned set of criteria. Its digest is its identity."""

import re
from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from stepjudge.digest import digest
from stepjudge.value import Value

AnswerWord = Literal["yes", "no", "not_applicable", "undetermined"]

SettlingFact = Literal["rejected", "empty_result", "failed_result", "repeat", "first_step"]
"""Facts that may settle an answer without a judge: those that are true by definition of the criterion."""

NAME = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"
CRITERION_NAME = r"^[a-z][a-z0-9_]*$"
VERSION = r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$"


class Example(Value):
    """A short case and its answer."""

    given: str
    answer: AnswerWord
    because: str


class Criterion(Value):
    """One question of a rubric."""

    name: str = Field(pattern=CRITERION_NAME)
    unit: Literal["call", "step"]
    """`call`: asked of each call, or once of the message when a step has no calls. `step`: asked of the step."""
    step_takes: Literal["all", "any"] | None = None
    """How answers per call become the step's answer. Only for unit `call`."""
    question: str
    definition: str = ""
    yes_when: tuple[str, ...] = ()
    no_when: tuple[str, ...] = ()
    not_applicable_when: tuple[str, ...] = ()
    """When set, the judge may answer `not_applicable`."""
    edge_cases: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    needs_call: bool = False
    """Whether the question makes no sense for a step without calls: it is then not applicable."""
    implies: tuple[str, ...] = ()
    """Criteria that must be yes whenever this one is: anything else is a contradiction."""
    names_steps: bool = False
    """Whether a yes must name the earlier steps it fixes."""
    no_by_fact: tuple[SettlingFact, ...] = ()
    """Facts that settle the answer as no."""
    not_applicable_by_fact: tuple[SettlingFact, ...] = ()
    """Facts that settle the answer as not applicable."""

    @property
    def digest(self) -> str:
        """The criterion's identity."""
        return digest(self.model_dump(mode="json", exclude_defaults=True))


class Scoring(Value):
    """Which criteria carry the ordinal score and the metrics.

    A step passes when every criterion of `passes` is yes, and is bad when one of `bad` is no.
    """

    passes: tuple[str, ...] = Field(min_length=1)
    bad: tuple[str, ...] = ()
    right_tool: tuple[str, ...] = ()
    """A call with these answered yes, to a tool that exists, is a call with the right tool."""
    arguments: str | None = None
    """The criterion whose yes is an accurate argument."""
    recovery: str | None = None
    """The criterion whose yes is a recovery."""


class Rubric(Value):
    """A named, versioned, content-addressed set of criteria."""

    name: str = Field(pattern=NAME)
    version: str = Field(pattern=VERSION)
    title: str = ""
    instructions: str
    """What the judge is told before the criteria."""
    shows_reasoning: bool = False
    """Whether the judge sees the agent's private reasoning. Rewritten reasoning alone can talk a judge round."""
    ask: Literal["step", "criterion"] = "step"
    """One model call for all criteria of a step, or one per criterion."""
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    scoring: Scoring

    @property
    def digest(self) -> str:
        """The rubric's identity: SHA-256 of its canonical JSON, without fields left at their default."""
        return digest(self.model_dump(mode="json", exclude_defaults=True))

    @property
    def reference(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"

    def criterion(self, name: str) -> Criterion:
        """The criterion of that name; KeyError when there is none."""
        for criterion in self.criteria:
            if criterion.name == name:
                return criterion
        raise KeyError(name)

    @model_validator(mode="after")
    def _is_coherent(self) -> Self:
        for complaint in _incoherences(self):
            raise ValueError(complaint)
        return self


def split_reference(reference: str) -> tuple[str, str | None]:
    """`step@1.0.0` → (`step`, `1.0.0`); `step` → (`step`, None), which means the newest version."""
    name, _, version = reference.partition("@")
    return name, version or None


def version_order(version: str) -> tuple[int, ...]:
    """Versions sort by number, not by letter: 1.10.0 is newer than 1.9.0."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def criterion_faults(criterion: Criterion, names: Sequence[str]) -> list[tuple[str, str]]:
    """Settings that cannot hold together: the field at fault and what is wrong. `names` are the rubric's criteria."""
    faults: list[tuple[str, str]] = []
    if criterion.unit == "step" and criterion.step_takes is not None:
        faults.append(("step_takes", "has unit 'step', so 'step_takes' is unreachable: remove it"))
    if criterion.unit == "call" and criterion.step_takes is None:
        faults.append(("unit", "has unit 'call' and needs 'step_takes: all' or 'step_takes: any'"))
    if criterion.unit == "step" and criterion.needs_call:
        faults.append(("needs_call", "has unit 'step', so 'needs_call' is unreachable: remove it"))
    faults += [("implies", f"implies {name!r}, {_absent(names)}") for name in criterion.implies if name not in names]
    if criterion.name in criterion.implies:
        faults.append(("implies", "implies itself: remove it"))
    both = set(criterion.no_by_fact) & set(criterion.not_applicable_by_fact)
    faults += [
        ("no_by_fact", f"lets the fact {fact!r} settle two different answers: keep one") for fact in sorted(both)
    ]
    if not criterion.not_applicable_when and any(example.answer == "not_applicable" for example in criterion.examples):
        faults.append(("examples", "has an example answered 'not_applicable', so it needs 'not_applicable_when'"))
    return faults


def scoring_faults(scoring: Scoring, names: Sequence[str]) -> list[tuple[str, str]]:
    """The fields of a scoring that name no criterion of the rubric, and what is wrong with each."""
    used = {
        "passes": scoring.passes,
        "bad": scoring.bad,
        "right_tool": scoring.right_tool,
        "arguments": (scoring.arguments,),
        "recovery": (scoring.recovery,),
    }
    return [
        (field, f"scoring names the criterion {name!r}, {_absent(names)}")
        for field, criteria in used.items()
        for name in criteria
        if name and name not in names
    ]


def _absent(names: Sequence[str]) -> str:
    return f"which does not exist: the criteria are {', '.join(map(repr, names))}"


def _incoherences(rubric: Rubric) -> list[str]:
    names = [criterion.name for criterion in rubric.criteria]
    complaints = [f"criterion {name!r} stands twice" for name in sorted({n for n in names if names.count(n) > 1})]
    for criterion in rubric.criteria:
        complaints += [f"criterion {criterion.name!r} {fault}" for _, fault in criterion_faults(criterion, names)]
    return complaints + [fault for _, fault in scoring_faults(rubric.scoring, names)]
