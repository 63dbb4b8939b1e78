"""Trial scores for tests: small ones made by hand, and a strategy that makes whole runs."""

from collections.abc import Sequence
from typing import Literal

from hypothesis import strategies as st

from stepjudge.checks.check import CheckResult
from stepjudge.contract import CallSummary, RubricRef, Scorecard, Scores, StepScore
from stepjudge.metric import Answers, Rate, rate
from stepjudge.trial import Measurements, Status, TrialScore
from stepjudge.view import ViewValue

NOTHING = Rate(numerator=0, denominator=0)


def check(name: str, outcome: Literal["pass", "fail", "error"] = "pass") -> CheckResult:
    return CheckResult(name=name, kind="file", outcome=outcome, reason="", digest="sha256:0", seconds=0)


def step(index: int, word: str = "+", *, command: str = "ls") -> StepScore:
    """A step with one call: `+` passes, `0` neither passes nor is bad, `-` is bad, `?` cannot be told."""
    answers = _ANSWERS[word]
    score, passes, bad = _READINGS[word]
    return StepScore(
        index=index,
        turn=1,
        llm_call=index,
        calls=(CallSummary(number=1, name="bash", arguments={"command": command}, answers=answers),),
        answers=answers,
        details=(),
        passes=passes,
        bad=bad,
        score=score,
        settled_by="judge",
        cached=False,
        verdict_id=f"v{index}",
        cost_usd=0.0,
    )


def card(
    words: str = "+",
    *,
    steps: Sequence[StepScore] | None = None,
    arguments: Rate = NOTHING,
    recovery: Rate = NOTHING,
    cost: float | None = 0.0,
    provisional: bool = True,
    rubric: str = "step",
) -> Scorecard:
    """A scorecard of one step per word."""
    steps = tuple(step(index, word) for index, word in enumerate(words, start=1)) if steps is None else tuple(steps)
    passing = rate(each.passes for each in steps)
    return Scorecard(
        trace_id="t",
        source_format="stepjudge",
        rubric=RubricRef(name=rubric, version="1.0.0", digest=f"sha256:{rubric}"),
        judge="scripted",
        judge_digest="sha256:0",
        provisional=provisional,
        range=f"1-{len(steps)}",
        total_steps=len(steps),
        grouping="none",
        groups=tuple((each.index,) for each in steps),
        steps=steps,
        scores=Scores(
            step_level=passing, tool_call_precision=passing, argument_accuracy=arguments, recovery_rate=recovery
        ),
        recoveries=(),
        answers=len(steps),
        undetermined=passing.undetermined,
        causes={},
        ungrounded=0,
        cached_steps=0,
        requests=0,
        cost_usd=cost,
        service_version="0",
    )


def trial(
    task: str = "a",
    number: int = 1,
    success: bool | None = True,
    *,
    status: Status = "completed",
    card: Scorecard | None = None,
    judge_error: str | None = None,
    views: dict[str, ViewValue] | None = None,
    steps: int | None = 2,
    cost: float | None = 0.5,
    tokens: tuple[int | None, int | None, int | None] = (None, None, None),
    trial_id: str | None = None,
) -> TrialScore:
    """A trial score; `tokens` are prompt, completion, total."""
    prompt, completion, total = tokens
    return TrialScore(
        trial_id=trial_id or f"{task}-{number}",
        task_id=task,
        trial=number,
        status=status,
        scorecard=card,
        judge_error=judge_error,
        views=views or {},
        success=success,
        steps=steps,
        calls=steps,
        turns=1,
        measurements=Measurements(
            prompt_tokens=prompt, completion_tokens=completion, total_tokens=total, cost_usd=cost
        ),
    )


def run(outcomes: str, *, task: str = "t") -> list[TrialScore]:
    """`110 01u` → task t1 with three trials, then t2: 1 succeeded, 0 did not, u cannot be told, f its harness failed."""
    return [
        trial(
            f"{task}{n}", number, {"1": True, "0": False}.get(letter), status="failed" if letter == "f" else "completed"
        )
        for n, letters in enumerate(outcomes.split(), start=1)
        for number, letter in enumerate(letters, start=1)
    ]


runs = st.lists(st.text("10uf", min_size=1, max_size=5), min_size=1, max_size=6).map(" ".join).map(run)
"""Whole runs: up to six tasks of up to five trials."""


@st.composite
def _judged_trials(draw: st.DrawFn) -> TrialScore:
    words = draw(st.text("+0-?", max_size=4))
    return trial(
        f"t{draw(st.integers(1, 4))}",
        draw(st.integers(1, 3)),
        draw(st.none() | st.booleans()),
        status=draw(st.sampled_from(["completed", "partial", "failed"])),
        card=card(words) if words else None,
        judge_error=draw(st.none() | st.just("the judge gave no answer")) if not words else None,
        views={"v": ViewValue(value=draw(st.none() | st.floats(0, 1)))} if draw(st.booleans()) else None,
        steps=len(words),
        cost=draw(st.none() | st.floats(0, 10)),
    )


judged_runs = st.lists(_judged_trials(), max_size=10)
"""Trials of any status and outcome, with steps of any reading, or without a judge."""

_ANSWERS: dict[str, Answers] = {
    "+": {"valid": "yes", "useful": "yes"},
    "0": {"valid": "yes", "useful": "no"},
    "-": {"valid": "no", "useful": "no"},
    "?": {"valid": "yes", "useful": "undetermined"},
}
_READINGS: dict[str, tuple[Literal[-1, 0, 1] | None, bool | None, bool | None]] = {
    "+": (1, True, False),
    "0": (0, False, False),
    "-": (-1, False, True),
    "?": (None, None, False),
}
