"""Sampling decides which steps people label. Only a uniform draw lets a rate be estimated; the others find errors sooner."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from stepjudge.digest import digest
from stepjudge.label import Sampling

T = TypeVar("T", bound="Candidate")
Queued = Literal["uniform", "disagreement", "low_confidence"]
"""Designs that a queue can follow."""


class Candidate(NamedTuple):
    """A step that may be labelled."""

    key: str
    """What tells it from all others of the population. A draw depends on nothing else."""
    said: Mapping[str, tuple[tuple[str, ...], ...]] = {}
    """Per criterion, what each judge said of it: one word per call."""
    confidence: float | None = None
    """The least confidence of any of its answers; null where no judge tells."""


class Drawn(NamedTuple):
    """A step that was drawn, and how."""

    key: str
    sampling: Sampling


def drawn(population: Sequence[Candidate], count: int, *, design: Queued, seed: int = 0) -> tuple[Drawn, ...]:
    """Up to `count` steps, in the order in which to label them.

    `uniform`: a simple random sample without replacement; every step has the probability count / population. The same
    seed draws the same steps whatever their order, and a larger count keeps those of a smaller one. `disagreement`:
    steps on which judges differ, most criteria first. `low_confidence`: the least sure first. Those two have no
    probability, and leave out steps on which judges agree, or of which no confidence is known.
    """
    ordered = sorted({each.key: each for each in population}.values(), key=lambda each: _lot(each.key, seed))
    size = len(ordered)
    if design == "uniform":
        sampling = Sampling(
            design="uniform", probability=min(1.0, count / size) if size else None, population=size or None, seed=seed
        )
        return tuple(Drawn(each.key, sampling) for each in ordered[:count])
    if design == "disagreement":
        wanted = [each for each in ordered if disagreement(each)]
        wanted.sort(key=lambda each: -disagreement(each))
    else:
        wanted = [each for each in ordered if each.confidence is not None]
        wanted.sort(key=lambda each: each.confidence or 0.0)
    sampling = Sampling(design=design, population=size or None, seed=seed)
    return tuple(Drawn(each.key, sampling) for each in wanted[:count])


def disagreement(candidate: Candidate) -> int:
    """On how many criteria the judges differ. An undetermined answer differs from none."""
    return sum(_differ(answers) for answers in candidate.said.values())


def _differ(answers: Sequence[tuple[str, ...]]) -> bool:
    by_call = [{word for word in words if word != "undetermined"} for words in zip(*answers, strict=False)]
    return any(len(words) > 1 for words in by_call)


def _lot(key: str, seed: int) -> str:
    """A lot that anybody can draw again: the steps with the smallest hashes of seed and key are the sample."""
    return digest([seed, key])
