"""A figure is a number as a reader sees it: its words, what it rests on, and where its interval stands on a scale."""

from dataclasses import dataclass

from stepjudge.consistency import PASSES_WANTED, Consistency
from stepjudge.headline import Pair
from stepjudge.interval import Interval
from stepjudge.per_success import PerSuccess, Quotient, StepsAndCost
from stepjudge.precision import PrecisionAndArguments
from stepjudge.stats import Estimate, MeanWithInterval, RateWithInterval
from stepjudge.success import SuccessAndConsistency
from stepjudge.summary import Summary


@dataclass(frozen=True)
class Scale:
    """Where a value and its interval stand between 0 and 100."""

    low: float | None
    high: float | None
    at: float | None


@dataclass(frozen=True)
class Figure:
    """One number, spelled."""

    label: str
    value: str
    """`80.0%`, or a dash when it is not measured."""
    lines: tuple[str, ...] = ()
    """What it rests on: fraction, interval, what was left out."""
    scale: Scale | None = None
    provisional: bool = False


@dataclass(frozen=True)
class Card:
    """A headline pair: two figures that are never shown apart."""

    title: str
    figures: tuple[Figure, Figure]
    details: tuple[tuple[str, str], ...]

    @property
    def provisional(self) -> bool:
        return any(figure.provisional for figure in self.figures)


def cards(summary: Summary) -> tuple[Card, ...]:
    """The headline pairs."""
    return (_success(summary.success), _precision(summary.precision), _price(summary.steps))


def rate_pairs(summary: Summary) -> tuple[Figure, ...]:
    """The figures of the pairs that are shares, side by side: those of a pair are next to each other."""
    return (*_success(summary.success).figures, *_precision(summary.precision).figures)


def process(summary: Summary) -> tuple[Figure, ...]:
    """The metrics of steps that may be shown alone."""
    return (
        rate("Step-level score", summary.step_level),
        rate("Bad steps", summary.bad_rate),
        rate("Recovery rate", summary.recovery_rate),
    )


def rate(label: str, estimate: RateWithInterval) -> Figure:
    """A rate that may be shown alone."""
    return _rate(label, estimate)


def mean(label: str, estimate: MeanWithInterval) -> Figure:
    """A mean of values in 0..1 that may be shown alone."""
    return Figure(
        label,
        "–" if estimate.value is None else f"{estimate.value:.3f}",
        (
            f"n = {estimate.denominator}",
            _interval(estimate.interval, estimate.why_no_interval, "{:.3f}"),
            *_left_out(estimate),
        ),
        _scale(estimate.value, estimate.interval),
        estimate.provisional,
    )


def _success(pair: SuccessAndConsistency) -> Card:
    figures = (_rate("Success rate", pair.success), _consistency(pair.consistency))
    return Card("Outcome", figures, _details(pair))


def _precision(pair: PrecisionAndArguments) -> Card:
    figures = (_rate("Tool-call precision", pair.precision), _rate("Argument accuracy", pair.arguments))
    return Card("Tool calls", figures, _details(pair))


def _price(pair: StepsAndCost) -> Card:
    figures = (
        _per_success("Steps per success", pair.steps.steps, "{:.1f}", "{:g}"),
        _per_success("Cost per success", pair.cost.agent_usd, "${:.4f}", "${:.4f}"),
    )
    return Card("Effort", figures, _details(pair))


def _details(pair: Pair) -> tuple[tuple[str, str], ...]:
    return tuple((reading.label, reading.text) for reading in pair.readings()[2:])


def _rate(label: str, estimate: Estimate) -> Figure:
    return Figure(
        label,
        "–" if estimate.value is None else f"{estimate.value:.1%}",
        (
            f"{estimate.numerator:g} of {estimate.denominator}",
            _interval(estimate.interval, estimate.why_no_interval, "{:.1%}"),
            *_left_out(estimate),
        ),
        _scale(estimate.value, estimate.interval),
        estimate.provisional,
    )


def _consistency(half: Consistency) -> Figure:
    if half.low is None or half.high is None:
        return Figure("Consistency", "–", ("no pass has a success rate",))
    few = (f"fewer than {PASSES_WANTED} passes: too few to tell",) if half.n < PASSES_WANTED else ()
    by_pass = ", ".join(f"{each.value:.0%}" for each in half.passes[:8])
    lines = (f"lowest to highest of {half.n} {'pass' if half.n == 1 else 'passes'}", f"by pass: {by_pass}", *few)
    return Figure("Consistency", f"{half.low:.0%}–{half.high:.0%}", lines, Scale(100 * half.low, 100 * half.high, None))


def _per_success(label: str, half: PerSuccess, form: str, whole: str) -> Figure:
    won, every = half.of_successes, half.of_all
    unknown = (f"unknown for {half.unknown} trials",) if half.unknown else ()
    lines = (
        f"{whole.format(won.amount)} in {_successes(won)}",
        _interval(won.interval, won.why_no_interval, form),
        f"{_amount(every, form)} over all trials",
        *unknown,
    )
    return Figure(label, _amount(won, form), lines)


def _successes(quotient: Quotient) -> str:
    return f"{quotient.successes} successful trial{'' if quotient.successes == 1 else 's'}"


def _amount(quotient: Quotient, form: str) -> str:
    return "–" if quotient.value is None else form.format(quotient.value)


def _interval(interval: Interval | None, why: str, form: str) -> str:
    if interval is None:
        return f"no interval: {why}"
    return (
        f"{interval.level:.0%} interval {form.format(interval.low)} to {form.format(interval.high)}, {interval.method}"
    )


def _left_out(estimate: Estimate) -> tuple[str, ...]:
    excluded = (f"{estimate.excluded} trials excluded",) if estimate.excluded else ()
    return (f"{estimate.undetermined} undetermined", *excluded)


def _scale(value: float | None, interval: Interval | None) -> Scale | None:
    if value is None:
        return None
    low, high = (100 * interval.low, 100 * interval.high) if interval else (None, None)
    return Scale(low, high, 100 * value)
