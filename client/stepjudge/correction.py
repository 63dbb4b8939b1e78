"""A correction is a rate or a mean that a judge's errors were taken out of, with a sample that people labelled.

Rogan–Gladen, which divides by the judge's sensitivity plus specificity minus one, is not offered: it has no bound where
that is near 0, and its error was 1.3 to 10 times that of the labels alone in `benchmarks/correction_simulation.py`.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from stepjudge.correction_interval import Quantity, over_steps, over_tasks, over_traces, within
from stepjudge.difference_estimator import difference
from stepjudge.interval import LEVEL, Interval
from stepjudge.labelled_sample import BadSample, SampledStep, checked, drawn_alike, looks_like_whole_traces
from stepjudge.value import Value

if TYPE_CHECKING:
    from stepjudge.difference_estimator import Places

__all__ = ["BadSample", "Correction", "CorrectionRule", "SampledStep", "corrected"]

Target = Literal["this run", "new tasks"]
"""`this run`: the mean over exactly these steps, had people labelled all. `new tasks`: over tasks like these."""
Drawing = Literal["steps", "whole traces"]

WHOLE_TRACES = (
    "labels came as whole traces: about 1/4 of the information of as many steps drawn one by one, and the interval over "
    "traces held the truth in 81–90% of simulated samples, not 95%"
)


class CorrectionRule(Value):
    """When the judge is left out."""

    labels: int = 50
    """With fewer, the labels stand alone."""
    each: int = 5
    """Of a share: labels there must be of either kind, else the labels stand alone."""


class Correction(Value):
    """A corrected share or mean."""

    target: Target
    quantity: Quantity
    estimate: float
    interval: Interval | None
    why_no_interval: str = ""
    method: Literal["PPI++", "labels only"]
    why: str = ""
    """Why the judge was left out."""
    judge_only: float
    """The judge's own figure; an abstention counts as 0."""
    labels_only: float
    """What the labels say by themselves."""
    lam: float
    """Weight on the judge: 0 ignores it, 1 takes its errors out in full."""
    n: int
    """Labelled steps. One that occurs several times is one."""
    steps: int
    """Scored steps, N, counted as often as they occur."""
    distinct: int
    """Scored steps that differ: each is drawn once, whatever it counts."""
    tasks: int
    """G."""
    n_eff: float | None
    """Independent draws that the estimate is worth; null when every step is labelled."""
    worth: float
    """n_eff / n of this judge: its verdicts make the labels worth so many times as many. 1 adds nothing; at most 4."""
    abstained: int
    """Steps on which the judge gave no value."""
    drawing: Drawing
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        ends = f"{LEVEL:.0%} {self.interval.low:.3f} to {self.interval.high:.3f}" if self.interval else "no interval"
        words = f"{self.estimate:.3f} ({ends}) for {self.target}, {self.method}: {self.n} labels of {self.steps} steps"
        return f"{words}, {self.tasks} tasks; the judge alone says {self.judge_only:.3f}; {self.worth_words}"

    @property
    def worth_words(self) -> str:
        """What the judge is worth, in labels."""
        if self.method == "labels only":
            return f"the judge is left out: {self.why}"
        extra = round((self.worth - 1) * self.n)
        return f"the judge is worth {max(0, extra)} more labels ({self.worth:.2f} × {self.n})"


def corrected(
    steps: Iterable[SampledStep],
    *,
    target: Target = "this run",
    quantity: Quantity = "share",
    drawing: Drawing = "steps",
    rule: CorrectionRule | None = None,
) -> Correction:
    """The share or mean over the scored steps, corrected by the labelled ones among them.

    Raises BadSample when nothing can be estimated, or labels have no sampling probability. `drawing` is how the labelled
    steps were drawn; labels that plainly came as whole traces are taken as such whatever it says.
    """
    import numpy as np

    every = checked(steps, share=quantity == "share")
    rule = rule or CorrectionRule()
    alike = drawn_alike(every)
    if alike and looks_like_whole_traces(every):
        drawing = "whole traces"
    judged = np.array([step.judged or 0.0 for step in every])
    times = np.array([step.times for step in every], dtype=float)
    drawn = np.array([place for place, step in enumerate(every) if step.human is not None])
    human = np.array([step.human for step in every if step.human is not None], dtype=float)
    chance = np.array([step.probability for step in every if step.human is not None], dtype=float)
    if alike:
        chance = np.full(len(drawn), len(drawn) / len(every))
    why = _why_alone(human.tolist(), quantity, rule)
    weight = times[drawn] / chance
    found = difference(judged, human, drawn, chance, times, use_judge=not why)
    tasks, traces = _codes([step.task for step in every]), _codes([step.trace for step in every])
    notes = (WHOLE_TRACES,) if drawing == "whole traces" else ()
    if drawing == "whole traces" and target == "this run":
        interval, n_eff = over_traces(found, len(drawn) / len(every), drawn, traces, quantity)
    elif target == "new tasks":
        interval, n_eff = over_tasks(found, judged, drawn, tasks, times, quantity)
    else:
        interval, n_eff = over_steps(found, len(drawn), quantity)
    return Correction(
        target=target,
        quantity=quantity,
        estimate=within(found.theta, quantity),
        interval=interval,
        why_no_interval="" if interval else "one cluster: how far others differ cannot be seen",
        method="labels only" if why else "PPI++",
        why=why,
        judge_only=float(times @ judged / times.sum()),
        labels_only=float(human @ weight / weight.sum()),
        lam=found.lam,
        n=len(drawn),
        steps=int(times.sum()),
        distinct=len(every),
        tasks=len(set(tasks.tolist())),
        n_eff=None if n_eff == float("inf") else n_eff,
        worth=found.worth,
        abstained=sum(step.times for step in every if step.judged is None),
        drawing=drawing,
        notes=notes,
    )


def _why_alone(human: Sequence[float], quantity: Quantity, rule: CorrectionRule) -> str:
    if len(human) < max(3, rule.labels):
        return f"{len(human)} labels are fewer than {rule.labels}"
    yes = sum(value == 1 for value in human)
    if quantity == "share" and min(yes, len(human) - yes) < rule.each:
        return f"the labels say yes {yes} and no {len(human) - yes} times; {rule.each} of each are needed"
    return ""


def _codes(names: Sequence[str]) -> "Places":
    import numpy as np

    return np.unique(np.array(names), return_inverse=True)[1]
