"""Test and retest: the very same question, asked again. What changes here is noise, and the floor of every other probe."""

from collections.abc import Callable
from random import Random

from stepjudge.probe.probe import Probe, Subject, Variant


def retests(count: int) -> tuple[Probe, ...]:
    """As many further samples of the same answer."""
    return tuple(
        Probe("retest", "retest", "the same question, asked again", _sampled(number)) for number in range(1, count + 1)
    )


def _sampled(number: int) -> Callable[[Subject, Random], Variant]:
    def vary(subject: Subject, _random: Random) -> Variant:
        return Variant(subject.trace, sample=number)

    return vary
