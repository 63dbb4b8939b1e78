"""A swallowed error: a call fails, and the next step goes on with the value that it would have brought."""

from collections.abc import Iterator
from functools import partial
from random import Random

from stepjudge.fault_injection.fault import FaultKind, Injected, Place, error
from stepjudge.mention import is_name, leaves, opening_text, result_text, stands_in, words_of
from stepjudge.trace import Step, Trace
from stepjudge.trace_edit import with_call, with_step

_ERRORS = (
    "Error: the request timed out after 30 seconds",
    "Error: connection reset by peer",
    "Error: 503 Service Unavailable",
)


class SwallowedError:
    kind: FaultKind = "swallowed_error"
    about = "a result becomes an error; the next step uses the value that it would have brought"
    breaks: tuple[str, ...] = ("valid",)

    def places(self, trace: Trace) -> list[Place]:
        return [partial(_break, trace, *found) for found in _dependencies(trace)]


def _dependencies(trace: Trace) -> Iterator[tuple[int, int, str]]:
    """(step, call, a value that only this call's result brought and that the next step uses)."""
    for step, following in zip(trace.steps, trace.steps[1:], strict=False):
        used = _used(following)
        for number, call in enumerate(step.calls, start=1):
            if call.result.state != "present" or call.result.is_error is True:
                continue
            text = call.result.text
            value = next((word for word in used if stands_in(word, text) and is_name(word, text)), None)
            if value and not stands_in(value, _otherwise(trace, step, number)):
                yield step.index, number, value


def _used(step: Step) -> tuple[str, ...]:
    values = [value for call in step.calls for _, value in leaves(call.arguments or {})]
    return words_of("\n".join([*values, step.message]), shortest=5)


def _otherwise(trace: Trace, step: Step, number: int) -> str:
    """Everything else that could have told the value: what was seen, and what the agent said itself."""
    texts = [opening_text(trace)]
    for earlier in trace.steps[: step.index - 1]:
        texts += [*(message.text for message in earlier.before), result_text(earlier), earlier.message]
        texts += [value for call in earlier.calls for _, value in leaves(call.arguments or {})]
    texts += [message.text for message in (*step.before, *trace.steps[step.index].before)]
    texts += [step.message, *(value for call in step.calls for _, value in leaves(call.arguments or {}))]
    texts += [call.result.text for place, call in enumerate(step.calls, start=1) if place != number]
    return "\n".join(texts)


def _break(trace: Trace, index: int, number: int, value: str, random: Random) -> Injected | None:
    step = trace.steps[index - 1]
    failed = step.calls[number - 1].model_copy(update={"result": error(trace, random.choice(_ERRORS), "timeout")})
    broken = with_step(trace, with_call(step, number, failed))
    what = f"call {number} of step {index} failed; step {index + 1} uses {value!r} all the same"
    return Injected("swallowed_error", broken, index + 1, index + 1, what, touched=(index,))
