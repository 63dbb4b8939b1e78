"""Verbosity: the agent's message is longer by words that say nothing about what it did."""

from collections.abc import Callable
from random import Random

from stepjudge.probe.probe import Probe, Subject, Variant
from stepjudge.trace_edit import with_step

_FILLER = (
    "Before going on it is worth taking a moment to appreciate the overall shape of the matter at hand.",
    "A careful and methodical approach tends to serve well in situations of this general nature.",
    "There are many aspects that one could consider, and each of them has a place of its own.",
    "Keeping things orderly and well considered remains a sensible way of working in general.",
    "As is so often the case, patience and a clear head are of the greatest value.",
    "It goes without saying that due attention has been given to everything that deserves attention.",
)


def _padded(sentences: int) -> Callable[[Subject, Random], Variant]:
    def vary(subject: Subject, random: Random) -> Variant:
        step = subject.trace.steps[subject.index - 1]
        words = " ".join(random.choice(_FILLER) for _ in range(sentences))
        message = f"{step.message}\n\n{words}" if step.message else words
        return Variant(with_step(subject.trace, step.model_copy(update={"message": message})))

    return vary


VERBOSITY = (
    Probe("padded_short", "verbosity", "the agent's message has three empty sentences more", _padded(3)),
    Probe("padded_long", "verbosity", "the agent's message has thirty empty sentences more", _padded(30)),
)
