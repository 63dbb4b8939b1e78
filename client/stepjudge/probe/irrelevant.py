"""Irrelevant edits: the trace says the same with other ids, another key order, other white space, or another name."""

import re
from collections import Counter
from collections.abc import Callable
from random import Random

from stepjudge.mention import is_name, leaves, lookalike, swapped
from stepjudge.probe.probe import Probe, Subject, Variant
from stepjudge.trace import Call, Result, Step, Trace, Usage
from stepjudge.trace_edit import with_texts

_WORD = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z][A-Za-z0-9_]{4,}")
_SPACE = re.compile(r"(?<=\S) (?=\S)|\n")


def _call_ids(subject: Subject, random: Random) -> Variant | None:
    if not any(step.calls for step in subject.trace.steps):
        return None
    return Variant(_with_calls(subject.trace, lambda call: _changed(call, id=f"call_{random.getrandbits(64):016x}")))


def _key_order(subject: Subject, _random: Random) -> Variant | None:
    if not any(call.arguments and len(call.arguments) > 1 for _, _, call in subject.trace.calls()):
        return None

    def turned(call: Call) -> Call:
        return _changed(call, arguments=call.arguments and dict(reversed(call.arguments.items())))

    return Variant(_with_calls(subject.trace, turned))


def _bookkeeping(subject: Subject, random: Random) -> Variant:
    """What a harness notes beside the log."""
    usage = Usage(prompt_tokens=random.randrange(1, 9_999), cost_usd=0.5)
    steps = [
        step.model_copy(update={"usage": usage, "started_at": "2031-01-01T00:00:00Z", "extra": {"run": "again"}})
        for step in subject.trace.steps
    ]
    changed = {"trace_id": f"run-{random.getrandbits(32):08x}", "steps": tuple(steps), "notes": ("read again",)}
    return Variant(subject.trace.model_copy(update=changed))


def _white_space(subject: Subject, random: Random) -> Variant | None:
    """About one blank in ten is doubled, in messages and results. Arguments, where it may matter, stay."""

    def loose(text: str) -> str:
        return _SPACE.sub(lambda blank: blank[0] * (2 if random.random() < 0.1 else 1), text)

    def loosened(call: Call) -> Call:
        return _changed(call, result=_loose_result(call.result, loose))

    trace = _with_calls(subject.trace, loosened)
    trace = trace.model_copy(update={"steps": tuple(_changed_step(step, loose) for step in trace.steps)})
    return Variant(trace) if trace != subject.trace else None


def _renamed(subject: Subject, random: Random) -> Variant | None:
    """A name that stands in several places is another one everywhere: nothing follows from how it is spelled."""
    texts: list[str] = []
    with_texts(subject.trace, lambda text: texts.append(text) or text)
    text = "\n".join(texts)
    fixed = {*_keys(subject.trace), *(tool.name for tool in subject.trace.tools)}
    fixed |= {call.name for _, _, call in subject.trace.calls()}
    told = Counter(_WORD.findall(text))
    # those of the task come first: they matter most
    names = [word for word in told if told[word] >= 3 and word not in fixed and is_name(word, text)]
    if not names or (other := lookalike(names[0], random, text)) is None:
        return None
    return Variant(with_texts(subject.trace, lambda text: swapped(text, names[0], other)))


def _keys(trace: Trace) -> set[str]:
    """Names of arguments: they are the tools' own."""
    return {str(part) for _, _, call in trace.calls() for path, _ in leaves(call.arguments or {}) for part in path}


def _with_calls(trace: Trace, change: Callable[[Call], Call]) -> Trace:
    steps = [step.model_copy(update={"calls": tuple(map(change, step.calls))}) for step in trace.steps]
    return trace.model_copy(update={"steps": tuple(steps)})


def _changed(call: Call, **fields: object) -> Call:
    return call.model_copy(update=fields)


def _changed_step(step: Step, loose: Callable[[str], str]) -> Step:
    observation = step.observation and _loose_result(step.observation, loose)
    return step.model_copy(update={"message": loose(step.message), "observation": observation})


def _loose_result(result: Result, loose: Callable[[str], str]) -> Result:
    return result.model_copy(update={"text": loose(result.text)})


IRRELEVANT = (
    Probe("call_ids", "irrelevant", "calls have other ids", _call_ids, same_question=True),
    Probe("key_order", "irrelevant", "the keys of arguments stand in reverse order", _key_order, same_question=True),
    Probe("bookkeeping", "irrelevant", "name, times, usage and notes are others", _bookkeeping, same_question=True),
    Probe("white_space", "irrelevant", "some blanks of messages and results are doubled", _white_space),
    Probe("renamed", "irrelevant", "a name is another one wherever it stands", _renamed),
)
