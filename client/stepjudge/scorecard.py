"""A scorecard joins a trace with its verdicts: each step's reading, then the metrics over the scored range."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from stepjudge.contract import CallSummary, Recovery, RubricRef, Scorecard, Scores, StepScore
from stepjudge.grouping import Grouping, groups
from stepjudge.metric import Answers, argument_accuracy, bad, combine, passes, rate, recovery_rate, rolled_up, score
from stepjudge.rubric import Rubric
from stepjudge.steps import spelled
from stepjudge.trace import Call, Step, Trace
from stepjudge.validation import Validation
from stepjudge.verdict import Verdict


@dataclass(frozen=True)
class Landed:
    """A verdict as it reached this request."""

    verdict: Verdict
    cached: bool
    """Whether it was remembered rather than asked for."""
    state_digest: str = ""
    """Of everything before the step; empty where the caller does not know."""
    step_digest: str = ""

    @property
    def cost_usd(self) -> float | None:
        """What this request paid for it: nothing when it was remembered."""
        return 0.0 if self.cached else self.verdict.spent.cost_usd


@dataclass(frozen=True)
class Bench:
    """Who judged: the names that stand on every scorecard."""

    judge: str
    judge_digest: str
    judge_note: str
    provisional: bool
    service_version: str
    validation: Validation | None = None


@dataclass(frozen=True)
class _Unit:
    """What is scored as one: a step, or several that the grouping merged."""

    answers: Answers
    calls: tuple[tuple[Answers, bool], ...]
    """Each call's answers, with its step's where it was not asked itself, and whether its tool exists.

    Merged steps count as one call.
    """


def step_score(rubric: Rubric, step: Step, landed: Landed) -> StepScore:
    """One step's reading."""
    verdict = landed.verdict
    answers = rolled_up(rubric, verdict.answers)
    return StepScore(
        index=step.index,
        turn=step.turn,
        llm_call=step.llm_call,
        calls=tuple(_call(number, call, verdict) for number, call in enumerate(step.calls, start=1)),
        answers=answers,
        details=verdict.answers,
        passes=passes(rubric, answers),
        bad=bad(rubric, answers),
        score=score(rubric, answers),
        inherits_from=verdict.inherits_from,
        settled_by=_settled_by(verdict),
        facts=verdict.facts,
        cuts=verdict.cuts,
        cached=landed.cached,
        verdict_id=verdict.verdict_id,
        state_digest=landed.state_digest,
        step_digest=landed.step_digest,
        cost_usd=landed.cost_usd,
    )


def scorecard(
    trace: Trace, rubric: Rubric, landed: Mapping[int, Landed], bench: Bench, grouping: Grouping = "none"
) -> Scorecard:
    """The whole reading of a trace. `landed` holds a verdict for each step in the scored range, by index."""
    steps = [step for step in trace.steps if step.index in landed]
    scores = tuple(step_score(rubric, step, landed[step.index]) for step in steps)
    merged = groups(steps, grouping)
    units = [_unit(rubric, [trace.steps[index - 1] for index in indices], landed) for indices in merged]
    answers = [answer for step in scores for answer in step.details]
    costs = [step.cost_usd for step in scores]
    return Scorecard(
        trace_id=trace.trace_id,
        source_format=trace.source_format,
        rubric=RubricRef(name=rubric.name, version=rubric.version, digest=rubric.digest),
        judge=bench.judge,
        judge_digest=bench.judge_digest,
        judge_note=bench.judge_note,
        provisional=bench.provisional,
        validation=bench.validation,
        range=spelled([step.index for step in steps]),
        total_steps=len(trace.steps),
        grouping=grouping,
        groups=merged,
        steps=scores,
        scores=_scores(rubric, units),
        recoveries=_recoveries(rubric, scores),
        answers=len(answers),
        undetermined=sum(answer.answer == "undetermined" for answer in answers),
        causes=dict(Counter(answer.cause for answer in answers if answer.cause)),
        ungrounded=sum(answer.ungrounded for answer in answers),
        cached_steps=sum(step.cached for step in scores),
        requests=sum(item.verdict.spent.requests for item in landed.values() if not item.cached),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
        notes=trace.notes,
        service_version=bench.service_version,
    )


def _scores(rubric: Rubric, units: Sequence[_Unit]) -> Scores:
    calls = [call for unit in units for call in unit.calls]
    return Scores(
        step_level=rate(passes(rubric, unit.answers) for unit in units),
        tool_call_precision=rate(passes(rubric, answers) for answers, _ in calls),
        argument_accuracy=argument_accuracy(rubric, calls),
        recovery_rate=recovery_rate(rubric, (unit.answers for unit in units)),
    )


def _unit(rubric: Rubric, steps: Sequence[Step], landed: Mapping[int, Landed]) -> _Unit:
    verdicts = [landed[step.index].verdict for step in steps]
    if len(steps) == 1:
        answers = rolled_up(rubric, verdicts[0].answers)
        calls = tuple(
            (answers | _of_call(verdicts[0], number), not _unknown_tool(verdicts[0], number))
            for number in range(1, len(steps[0].calls) + 1)
        )
        return _Unit(answers, calls)
    answers = _merged(rubric, [rolled_up(rubric, verdict.answers) for verdict in verdicts])
    exists = not any(_unknown_tool(verdict, 1) for verdict in verdicts)
    return _Unit(answers, ((answers, exists),))


def _merged(rubric: Rubric, answers: Sequence[Answers]) -> Answers:
    """Merged steps answer as their calls would in one step; a step's own criterion takes any."""
    return {
        criterion.name: combine(
            (each[criterion.name] for each in answers if criterion.name in each), criterion.step_takes or "any"
        )
        for criterion in rubric.criteria
    }


def _recoveries(rubric: Rubric, scores: Sequence[StepScore]) -> tuple[Recovery, ...]:
    return tuple(
        Recovery(step=step.index, fixes=answer.fixes)
        for step in scores
        for answer in step.details
        if answer.criterion == rubric.scoring.recovery and answer.answer == "yes"
    )


def _call(number: int, call: Call, verdict: Verdict) -> CallSummary:
    return CallSummary(
        number=number,
        name=call.name,
        arguments=call.arguments,
        arguments_raw=call.arguments_raw,
        answers=_of_call(verdict, number),
        is_error=call.result.is_error,
    )


def _of_call(verdict: Verdict, number: int) -> Answers:
    return {answer.criterion: answer.answer for answer in verdict.answers if answer.call == number}


def _unknown_tool(verdict: Verdict, number: int) -> bool:
    return any(fact.name == "unknown_tool" and fact.call == number for fact in verdict.facts)


def _settled_by(verdict: Verdict) -> Literal["facts", "judge", "mixed"]:
    by_facts = [answer.settled_by == "facts" for answer in verdict.answers]
    if all(by_facts):
        return "facts"
    return "mixed" if any(by_facts) else "judge"
