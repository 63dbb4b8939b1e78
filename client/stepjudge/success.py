"""Success and its consistency: how often trials reach their goal, and how much that moves from pass to pass."""

from collections import defaultdict
from collections.abc import Sequence

from stepjudge.consistency import Consistency, consistency, spread_words
from stepjudge.headline import HeadlineRate, Pair, Reading
from stepjudge.metric import Rate
from stepjudge.stats import counted, rate_with_interval, share_words
from stepjudge.trial import TrialScore


class SuccessAndConsistency(Pair):
    """The success rate, beside how much it moves over 3 to 5 passes."""

    success: HeadlineRate
    """Trials that succeeded / trials whose outcome can be told. Failed trials are excluded, never counted as 0."""
    consistency: Consistency

    def readings(self) -> tuple[Reading, ...]:
        rate, moves = self.success, self.consistency
        words = share_words(rate.numerator, rate.denominator, rate.value, rate.interval)
        details = [
            Reading(
                label=f"pass@{at.k}, pass^{at.k}",
                text=f"{at.pass_at_k:.1%}, {at.pass_hat_k:.1%} ({counted(at.tasks, 'task')})",
            )
            for at in moves.at_k
        ]
        return (
            Reading(label="success rate", text=f"{words}; {rate.reservations}"),
            Reading(label="consistency", text=spread_words(moves.low, moves.high, moves.n)),
            *details,
        )


def success_and_consistency(
    trials: Sequence[TrialScore], seed: int, *, provisional: bool = False
) -> SuccessAndConsistency:
    """Both, over trials that did not fail."""
    scored = [trial for trial in trials if trial.status != "failed"]
    rates: dict[str, list[Rate]] = defaultdict(list)
    by_pass: dict[int, list[bool]] = defaultdict(list)
    by_task: dict[str, list[bool]] = {trial.task_id: [] for trial in trials}
    for trial in scored:
        if trial.success is not None:
            rates[trial.task_id].append(Rate(numerator=int(trial.success), denominator=1))
            by_pass[trial.trial].append(trial.success)
            by_task[trial.task_id].append(trial.success)
        else:
            rates[trial.task_id].append(Rate(numerator=0, denominator=0, undetermined=1))
    estimate = rate_with_interval(rates, seed, excluded=len(trials) - len(scored), provisional=provisional)
    return SuccessAndConsistency(success=HeadlineRate.of(estimate), consistency=consistency(by_pass, by_task))
