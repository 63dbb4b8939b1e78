"""A skipped precondition: the step that brought a value is left out, so a later step uses what it never learnt."""

from collections.abc import Iterator
from functools import partial
from random import Random

from stepjudge.fault_injection.fault import FaultKind, Injected, Place
from stepjudge.mention import is_name, leaves, opening_text, result_text, stands_in, words_of
from stepjudge.trace import Message, Step, Trace
from stepjudge.trace_edit import renumbered


class SkippedPrecondition:
    kind: FaultKind = "skipped_precondition"
    about = "the step that brought a value is left out; a later step uses the value all the same"
    breaks: tuple[str, ...] = ("valid", "arguments")

    def places(self, trace: Trace) -> list[Place]:
        return [partial(_break, trace, source, user, value) for source, user, value in _dependencies(trace)]


def _dependencies(trace: Trace) -> Iterator[tuple[int, int, str]]:
    """(the step that brought a value, the first step that uses it in an argument, the value)."""
    # each text once: what stood in it before step t decides whether the value was known otherwise
    opening = opening_text(trace)
    for source in trace.steps:
        brought = result_text(source)
        if not brought:
            continue
        elsewhere = [opening, *(result_text(step) for step in trace.steps if step.index != source.index)]
        for user in trace.steps[source.index :]:
            known = "\n".join([*elsewhere[: user.index], *_said_to(trace, user.index)])
            value = next((word for word in _used(user) if stands_in(word, brought) and is_name(word, brought)), None)
            if value and not stands_in(value, known) and not stands_in(value, _said_by(trace, source.index)):
                yield source.index, user.index, value
                break


def _used(step: Step) -> tuple[str, ...]:
    values = "\n".join(value for call in step.calls for _, value in leaves(call.arguments or {}))
    return words_of(values, shortest=4)


def _said_to(trace: Trace, index: int) -> Iterator[str]:
    for step in trace.steps[:index]:
        yield from (message.text for message in step.before)


def _said_by(trace: Trace, index: int) -> str:
    """What the agent itself had said and asked for up to that step: a value it brought itself needs no source."""
    said = [step.message for step in trace.steps[:index]]
    said += [value for step in trace.steps[:index] for call in step.calls for _, value in leaves(call.arguments or {})]
    return "\n".join(said)


def _break(trace: Trace, source: int, user: int, value: str, _random: Random) -> Injected | None:
    left_out = trace.steps[source - 1]
    steps = [step for step in trace.steps if step.index != source]
    # what the user said at that moment was still said
    following = steps[source - 1]
    before: tuple[Message, ...] = (*left_out.before, *following.before)
    steps[source - 1] = following.model_copy(update={"before": before})
    broken = trace.model_copy(update={"steps": renumbered(steps)})
    what = f"step {source}, which brought {value!r}, is left out"
    return Injected("skipped_precondition", broken, user - 1, user, what)
