"""Steps and cost per success: what a success takes, in the trials that succeeded and in all of them."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from stepjudge.headline import Half, Pair, Reading
from stepjudge.interval import Cluster, Interval
from stepjudge.stats import counted, interval_words, quotient_interval
from stepjudge.trial import TrialScore
from stepjudge.value import Value


class Quotient(Value):
    """An amount per success."""

    amount: float
    successes: int
    value: float | None
    """Amount / successes; null without a success."""
    interval: Interval | None = None
    why_no_interval: str = ""


class PerSuccess(Value):
    """What a success takes of one thing. Trials whose outcome cannot be told are in neither number."""

    of_successes: Quotient
    """Of the trials that succeeded only: how long the road is when it leads there."""
    of_all: Quotient
    """Of all trials, the vain ones too: what a success costs in the end."""
    trials: int
    """Trials behind it."""
    unknown: int
    """Trials left out because nobody said what they took."""


class StepsPerSuccess(Half):
    """The length of the road."""

    steps: PerSuccess
    calls: PerSuccess
    turns: PerSuccess


class CostPerSuccess(Half):
    """The price of it."""

    agent_usd: PerSuccess
    """What the agent spent."""
    with_judge_usd: PerSuccess
    """That, and what judging the trial cost in this run; verdicts that were remembered cost nothing."""
    tokens: PerSuccess
    """The agent's, prompt and completion."""


class StepsAndCost(Pair):
    """Steps per success, beside cost per success."""

    steps: StepsPerSuccess
    cost: CostPerSuccess

    def readings(self) -> tuple[Reading, ...]:
        return (
            _reading("steps per success", self.steps.steps, "{:.1f}"),
            _reading("cost per success", self.cost.agent_usd, "${:.4f}"),
            _reading("calls per success", self.steps.calls, "{:.1f}"),
            _reading("turns per success", self.steps.turns, "{:.1f}"),
            _reading("cost per success with the judge", self.cost.with_judge_usd, "${:.4f}"),
            _reading("tokens per success", self.cost.tokens, "{:.0f}"),
        )


def steps_and_cost(trials: Sequence[TrialScore], seed: int) -> StepsAndCost:
    """Both, over the trials whose outcome can be told."""
    told = [trial for trial in trials if trial.status != "failed" and trial.success is not None]

    def per_success(amount: Callable[[TrialScore], float | None]) -> PerSuccess:
        return _per_success(told, amount, seed)

    return StepsAndCost(
        steps=StepsPerSuccess(
            steps=per_success(lambda trial: trial.steps),
            calls=per_success(lambda trial: trial.calls),
            turns=per_success(lambda trial: trial.turns),
        ),
        cost=CostPerSuccess(
            agent_usd=per_success(lambda trial: trial.measurements.cost_usd),
            with_judge_usd=per_success(_with_judge),
            tokens=per_success(tokens_of),
        ),
    )


def _per_success(trials: Sequence[TrialScore], amount: Callable[[TrialScore], float | None], seed: int) -> PerSuccess:
    known = [(trial, taken) for trial in trials if (taken := amount(trial)) is not None]
    return PerSuccess(
        of_successes=_quotient([(trial, taken) for trial, taken in known if trial.success], seed),
        of_all=_quotient(known, seed),
        trials=len(known),
        unknown=len(trials) - len(known),
    )


def _quotient(taken: Sequence[tuple[TrialScore, float]], seed: int) -> Quotient:
    clusters: dict[str, Cluster] = defaultdict(lambda: Cluster(0, 0))
    for trial, amount in taken:
        above, below = clusters[trial.task_id]
        clusters[trial.task_id] = Cluster(above + amount, below + bool(trial.success))
    amount, successes = sum(each.numerator for each in clusters.values()), sum(bool(t.success) for t, _ in taken)
    if not successes:
        return Quotient(amount=amount, successes=0, value=None, why_no_interval="no success")
    interval, why = quotient_interval(clusters, seed)
    return Quotient(
        amount=amount,
        successes=successes,
        value=amount / successes,
        interval=interval.holding(amount / successes) if interval else None,
        why_no_interval=why,
    )


def _with_judge(trial: TrialScore) -> float | None:
    agent = trial.measurements.cost_usd
    # A judge that gave no answer may have cost something: nobody said
    judge = trial.scorecard.cost_usd if trial.scorecard else (None if trial.judge_error else 0.0)
    return agent + judge if agent is not None and judge is not None else None


def tokens_of(trial: TrialScore) -> int | None:
    """The agent's prompt and completion tokens, as stated or summed; null where nobody said."""
    taken = trial.measurements
    if taken.total_tokens is not None or taken.prompt_tokens is None or taken.completion_tokens is None:
        return taken.total_tokens
    return taken.prompt_tokens + taken.completion_tokens


def _reading(label: str, per_success: PerSuccess, form: str) -> Reading:
    of_successes, of_all = (_words(each, form) for each in (per_success.of_successes, per_success.of_all))
    unknown = f"; unknown for {counted(per_success.unknown, 'trial')}" if per_success.unknown else ""
    return Reading(label=label, text=f"{of_successes} in successful trials, {of_all} in all trials{unknown}")


def _words(quotient: Quotient, form: str) -> str:
    shown = "not measured" if quotient.value is None else form.format(quotient.value)
    return f"{shown} ({form.format(quotient.amount)}/{quotient.successes}, {interval_words(quotient.interval)})"
