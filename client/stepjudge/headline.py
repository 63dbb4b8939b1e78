"""A headline metric is two readings that keep each other honest: its halves are built, kept and printed as one pair."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

from stepjudge.stats import Estimate
from stepjudge.value import Value


class Reading(Value):
    """One line of a printed pair."""

    label: str
    text: str


class Half(Value):
    """One half of a headline metric. Its numbers can be read; only its pair can be printed."""

    def __str__(self) -> str:
        raise TypeError(f"a {type(self).__name__} is not printed alone: print the pair it belongs to")


class HeadlineRate(Estimate, Half):
    """A rate that is half of a headline metric."""

    @classmethod
    def of(cls, estimate: Estimate) -> Self:
        """The same numbers as half of a pair."""
        return cls(**{name: getattr(estimate, name) for name in Estimate.model_fields})


class Pair(Value, ABC):
    """A headline metric: both halves, or none. Each kind of pair names its two halves as required fields."""

    @abstractmethod
    def readings(self) -> tuple[Reading, ...]:
        """Both halves, spelled; the first lines are the halves, what follows are their details."""

    def __str__(self) -> str:
        return "\n".join(f"{reading.label}: {reading.text}" for reading in self.readings())


def printed(pairs: Sequence[Pair]) -> str:
    """The headline of a report, for a terminal: pairs, each on its lines."""
    return "\n".join(map(str, pairs))
