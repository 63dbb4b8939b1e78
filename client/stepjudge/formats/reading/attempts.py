"""Attempts are the runs that one document holds; those that failed before their first step are told of, not lost."""

from collections.abc import Callable, Iterable, Iterator

from stepjudge.errors import UnreadableTrace
from stepjudge.trace import Trace


def with_steps(attempts: Iterable[Callable[[], Trace]]) -> Iterator[Trace]:
    """The traces of the attempts that have steps, each read when it is asked for. Those without stand in a note of the
    trace before them, or of the first. Raises when there is none with steps."""
    held: Trace | None = None
    left_out, error = 0, UnreadableTrace("there is no run in it")
    for attempt in attempts:
        try:
            trace = attempt()
        except UnreadableTrace as refused:
            left_out, error = left_out + 1, refused
            continue
        if held is None:
            held = trace
            continue
        yield _noted(held, left_out)
        held, left_out = trace, 0
    if held is None:
        raise error
    yield _noted(held, left_out)


def _noted(trace: Trace, left_out: int) -> Trace:
    if not left_out:
        return trace
    note = f"{left_out} runs beside this one in the document have no steps, so there is nothing to judge: left out"
    return trace.model_copy(update={"notes": (*trace.notes, note)})
