"""Consistency is how much success moves when nothing changes but the attempt: the range over passes, pass@k and pass^k."""

from collections.abc import Mapping, Sequence
from math import comb
from statistics import fmean

from stepjudge.headline import Half
from stepjudge.value import Value

PASSES_WANTED = 3
"""Fewer passes over the task set say little of a range; 3 to 5 are usual."""

SuccessByTask = Mapping[str, Sequence[bool]]
"""The outcomes of each task's trials, as far as they can be told."""


class PassRate(Value):
    """The success rate of one pass over the task set."""

    trial: int
    """The number of the pass, from 1."""
    numerator: int
    denominator: int
    value: float


class AtK(Value):
    """pass@k and pass^k, each the mean over the tasks that have k trials whose outcome can be told."""

    k: int
    pass_at_k: float
    """The chance that at least one of k trials of a task succeeds."""
    pass_hat_k: float
    """The chance that all of k trials of a task succeed (pass^k)."""
    tasks: int
    left_out: int
    """Tasks with fewer than k such trials."""


class Consistency(Half):
    """How much the success rate moves from pass to pass."""

    passes: tuple[PassRate, ...]
    low: float | None
    """The lowest success rate of a pass; null without passes."""
    high: float | None
    at_k: tuple[AtK, ...]

    @property
    def n(self) -> int:
        """Passes that have a success rate."""
        return len(self.passes)

    @property
    def range(self) -> float | None:
        """Highest minus lowest success rate of a pass; null for fewer than two passes, which cannot differ."""
        return self.high - self.low if self.n > 1 and self.high is not None and self.low is not None else None


def spread_words(low: float | None, high: float | None, passes: int) -> str:
    """`60.0–80.0% over 5 passes`."""
    if low is None or high is None:
        return "not measured"
    few = f" (fewer than {PASSES_WANTED}: too few to tell)" if passes < PASSES_WANTED else ""
    return f"{100 * low:.1f}–{100 * high:.1f}% over {passes} {'pass' if passes == 1 else 'passes'}{few}"


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that k trials drawn from n, of which c succeeded, hold a success: 1 − C(n−c, k) / C(n, k).

    Unbiased for 1 − (1−p)^k. M. Chen et al., "Evaluating large language models trained on code", 2021,
    arXiv:2107.03374, equation 1.
    """
    return (comb(n, k) - comb(n - c, k)) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """The chance that k trials drawn from n, of which c succeeded, all succeeded: C(c, k) / C(n, k).

    Unbiased for p^k. S. Yao et al., "τ-bench: a benchmark for tool-agent-user interaction in real-world domains", 2024,
    arXiv:2406.12045, section 3.
    """
    return comb(c, k) / comb(n, k)


def consistency(by_pass: Mapping[int, Sequence[bool]], by_task: SuccessByTask) -> Consistency:
    """Success by pass over the task set, and by task."""
    passes = tuple(
        PassRate(trial=trial, numerator=sum(won), denominator=len(won), value=sum(won) / len(won))
        for trial, won in sorted(by_pass.items())
        if won
    )
    rates = [each.value for each in passes]
    most = max((len(won) for won in by_task.values()), default=0)
    return Consistency(
        passes=passes,
        low=min(rates, default=None),
        high=max(rates, default=None),
        at_k=tuple(_at_k(k, by_task) for k in range(1, most + 1)),
    )


def _at_k(k: int, by_task: SuccessByTask) -> AtK:
    counts = [(len(by_task[task]), sum(by_task[task])) for task in sorted(by_task) if len(by_task[task]) >= k]
    return AtK(
        k=k,
        pass_at_k=fmean(pass_at_k(n, c, k) for n, c in counts),
        pass_hat_k=fmean(pass_hat_k(n, c, k) for n, c in counts),
        tasks=len(counts),
        left_out=len(by_task) - len(counts),
    )
