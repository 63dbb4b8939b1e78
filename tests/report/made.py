"""Runs made up for reports: of any size, always the same for a seed, with every kind of thing a report shows."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from stepjudge.checks.check import CheckEvidence, CheckResult
from stepjudge.contract import CallSummary, Recovery, RubricRef, Scorecard, Scores, StepScore
from stepjudge.metric import bad, passes, rate, rolled_up, score
from stepjudge.rubric import AnswerWord, Rubric
from stepjudge.rubric_file import read_rubric_file, shipped
from stepjudge.summary import Summary, summary
from stepjudge.task import Task
from stepjudge.trace import Call, Message, Result, Step, Tool, Trace, Usage
from stepjudge.trial import Measurements, Trial, TrialError, TrialScore
from stepjudge.verdict import Answer, Evidence, Fact
from stepjudge.view import Signal, View, signals_of, view_values

RUBRIC: Rubric = read_rubric_file(shipped() / "step" / "1.0.0.yaml")
VIEWS = {
    "process": View(
        reducer="mean", signals=(Signal(source="score.step_level"), Signal(source="score.tool_call_precision"))
    ),
    "release": View(reducer="gate", signals=(Signal(source="outcome"), Signal(source="score.step_level"))),
    "tests": View(reducer="single", signals=(Signal(source="check.tests"),)),
}
_WORK = (
    ("refund-881", "Refund a damaged item, after asking for consent."),
    ("rename-flag", "Rename a command-line flag everywhere, keeping the old one as an alias."),
    ("flaky-test", "Find out why a test fails one time in ten, and mend it."),
    ("invoice-total", "Correct the rounding of invoice totals."),
    ("opening-hours", "Answer when the museum opens on a public holiday."),
    ("dead-links", "Report the links of the handbook that lead nowhere."),
    ("csv-import", "Make the import accept a semicolon as separator."),
    ("seat-change", "Move a passenger to an aisle seat within the fare's rules."),
)  # fmt: skip
_SAYS = (
    "I will look at the file that the error names.",
    "The loop ends one element early; I change the bound and run the tests again.",
    "That path does not exist. The tree shows it under src, so I look there.",
    "Searching for every caller before I touch the signature.",
)
_SEEN = (
    "def total(lines):\n    return sum(line.price for line in lines)\n\n\ndef rounded(amount):\n    return round(amount, 2)\n",
    "============ 41 passed, 1 failed in 3.2 s ============\nE   assert 10.01 == 10.0\ntests/test_invoice.py:17: AssertionError\n",
    "src/shop/invoice.py:12:    return round(amount, 2)\nsrc/shop/refund.py:40:    return rounded(amount)\n",
    "cat: shop/invoice.py: No such file or directory\n",
)


@dataclass(frozen=True)
class MadeRun:
    """What a report is made of."""

    tasks: tuple[Task, ...]
    trials: tuple[Trial, ...]
    scores: tuple[TrialScore, ...]

    @property
    def summary(self) -> Summary:
        return summary(self.scores, 7)


def made_run(tasks: int = 8, passes: int = 4, steps: int = 12, *, seed: int = 1, padding: int = 0) -> MadeRun:
    """A run of so many tasks and passes. `padding`: characters by which every result is longer."""
    chance = random.Random(seed)
    made = tuple(_task(number) for number in range(tasks))
    pairs = [
        _attempt(chance, task, number, steps=steps, padding=padding) for task in made for number in range(1, passes + 1)
    ]
    return MadeRun(made, tuple(trial for trial, _ in pairs), tuple(scored for _, scored in pairs))


def scored(trial: Trial, card: Scorecard | None, checks: Sequence[CheckResult] = ()) -> TrialScore:
    """A trial with what was said of it."""
    outcomes = [check.outcome for check in checks]
    told = outcomes and "error" not in outcomes and trial.status != "failed"
    trace = trial.trace
    return TrialScore(
        trial_id=trial.id,
        task_id=trial.task_id,
        trial=trial.trial,
        status=trial.status,
        checks=tuple(checks),
        scorecard=card,
        judge_error=None if card else "the provider did not answer",
        views=view_values(VIEWS, signals_of(checks, card)),
        success="fail" not in outcomes if told else None,
        steps=len(trace.steps) if trace else None,
        calls=sum(len(step.calls) for step in trace.steps) if trace else None,
        turns=max((step.turn for step in trace.steps), default=0) if trace else None,
        measurements=trial.measurements,
    )


def card(trace: Trace, steps: Sequence[StepScore], recoveries: Sequence[Recovery] = ()) -> Scorecard:
    """What a judge said of a whole trace."""
    details = [answer for step in steps for answer in step.details]
    passing = rate(step.passes for step in steps)
    named = {name: rate(_truth(answer) for answer in details if answer.criterion == name and answer.answer != "not_applicable") for name in ("arguments", "recovery")}  # fmt: skip
    return Scorecard(
        trace_id=trace.trace_id,
        source_format=trace.source_format,
        rubric=RubricRef(name=RUBRIC.name, version=RUBRIC.version, digest=RUBRIC.digest),
        judge="provider/judge-large",
        judge_digest="sha256:1",
        provisional=True,
        range=f"1-{len(trace.steps)}",
        total_steps=len(trace.steps),
        grouping="none",
        groups=tuple((step.index,) for step in steps),
        steps=tuple(steps),
        scores=Scores(
            step_level=passing, tool_call_precision=passing, argument_accuracy=named["arguments"], recovery_rate=named["recovery"]
        ),
        recoveries=tuple(recoveries),
        answers=len(details),
        undetermined=sum(answer.answer == "undetermined" for answer in details),
        causes={"judge_unsure": count} if (count := sum(answer.answer == "undetermined" for answer in details)) else {},
        ungrounded=sum(answer.ungrounded for answer in details),
        cached_steps=len(steps) // 2,
        requests=len(steps) - len(steps) // 2,
        cost_usd=0.0021 * len(steps),
        service_version="0.1.0",
    )  # fmt: skip


def step_score(step: Step, answers: Sequence[Answer], facts: Sequence[Fact] = ()) -> StepScore:
    """A step's answers, rolled up as the rubric says."""
    rolled = rolled_up(RUBRIC, answers)
    return StepScore(
        index=step.index,
        turn=step.turn,
        llm_call=step.llm_call,
        calls=tuple(CallSummary(number=number, name=call.name, arguments=call.arguments, answers=rolled) for number, call in enumerate(step.calls, start=1)),
        answers=rolled,
        details=tuple(answers),
        passes=passes(RUBRIC, rolled),
        bad=bad(RUBRIC, rolled),
        score=score(RUBRIC, rolled),
        settled_by="judge",
        facts=tuple(facts),
        cached=step.index % 2 == 0,
        verdict_id=f"v-{step.index:04d}",
        cost_usd=0.0021,
    )  # fmt: skip


def _task(number: int) -> Task:
    name, intent = _WORK[number % len(_WORK)]
    suffix = f"-{number // len(_WORK) + 1}" if number >= len(_WORK) else ""
    return Task(id=f"{name}{suffix}", intent=intent, inputs={"instruction": intent}, views=VIEWS)


def _attempt(chance: random.Random, task: Task, number: int, *, steps: int, padding: int) -> tuple[Trial, TrialScore]:
    count = max(1, steps + chance.randint(-steps // 4, steps // 4))
    trace = _trace(chance, task, count, padding)
    luck = chance.random()
    status = "failed" if luck < 0.04 else "partial" if luck < 0.1 else "completed"
    trial = Trial(
        id=f"{task.id}.{number}",
        task_id=task.id,
        trial=number,
        status=status,
        output_text="Done: totals are rounded once, at the end, and all tests pass." if status == "completed" else None,
        trace=None if status == "failed" else trace,
        error=TrialError(type="ContainerLost", message="the container stopped before the first step") if status == "failed" else None,
        measurements=Measurements(prompt_tokens=900 * count, completion_tokens=110 * count, total_tokens=1010 * count, runtime_sec=4.2 * count, cost_usd=0.0043 * count * chance.uniform(0.8, 1.2)),
    )  # fmt: skip
    if status == "failed":
        return trial, scored(trial, None).model_copy(update={"judge_error": None})
    judged = [_judged(chance, step) for step in trace.steps]
    recoveries = tuple(
        Recovery(step=each.index, fixes=answer.fixes)
        for each in judged
        for answer in each.details
        if answer.criterion == "recovery" and answer.answer == "yes"
    )
    return trial, scored(trial, card(trace, judged, recoveries), _checks(chance))


def _trace(chance: random.Random, task: Task, steps: int, padding: int) -> Trace:
    return Trace(
        trace_id=task.id,
        agent="example-agent",
        model="provider/agent-small",
        system="You work in a shop's repository. Ask before you refund. Run the tests before you say that they pass.",
        task=task.intent,
        tools=(Tool(name="bash", description="Run a command.", parameters={"type": "object", "properties": {"command": {"type": "string"}}}),),
        steps=tuple(_step(chance, index, last=index == steps, padding=padding) for index in range(1, steps + 1)),
        final_output="Done.",
        notes=("the format does not say which model answered",),
    )  # fmt: skip


def _step(chance: random.Random, index: int, *, last: bool, padding: int) -> Step:
    turn = 1 + index // 9
    before = (Message(role="user", text="Please go on."),) if index == 9 else ()
    usage = Usage(prompt_tokens=800 + 90 * index, completion_tokens=110, cost_usd=0.0043)
    if last:
        return Step(
            index=index,
            turn=turn,
            llm_call=index,
            before=before,
            message="Done: totals are rounded once, at the end.",
            usage=usage,
        )
    seen = chance.choice(_SEEN)
    failed = "No such file" in seen
    text = seen + "".join(f"{chance.getrandbits(64):016x} line of a log\n" for _ in range(padding // 30))
    call = Call(
        name=chance.choice(("bash", "bash", "view", "search")),
        arguments={"command": chance.choice(("cat src/shop/invoice.py", "pytest -q tests/test_invoice.py", "grep -rn rounded src"))},
        result=Result(text=text, state="present", is_error=failed, exit_code=1 if failed else 0),
    )  # fmt: skip
    return Step(
        index=index, turn=turn, llm_call=index, before=before, message=chance.choice(_SAYS), calls=(call,), usage=usage
    )


def _judged(chance: random.Random, step: Step) -> StepScore:
    setback = bool(step.calls and step.calls[0].result.is_error)
    luck = chance.random()
    word: AnswerWord = "undetermined" if luck < 0.05 else "no" if setback or luck < 0.2 else "yes"
    valid: AnswerWord = "no" if luck < 0.13 and not setback else "yes"
    call = 1 if step.calls else None
    place = f"s{step.index}.c1.result" if step.calls else f"s{step.index}.message"
    text = step.calls[0].result.text if step.calls else step.message
    quote = Evidence(place=place, quote=" ".join(text.splitlines()[0].split()))
    recovers = step.index > 3 and luck > 0.9
    answers = (
        Answer(criterion="valid", call=call, answer=valid, reason="The command exists and the environment accepted it.", evidence=(quote,), confidence=0.94),
        Answer(criterion="arguments", call=call, answer="yes" if step.calls else "not_applicable", reason="The path is the one that the search named.", evidence=(quote,) if step.calls else ()),
        Answer(criterion="relevant", call=call, answer="yes", reason="It looks where the error message points.", evidence=(quote,), ungrounded=0.2 < luck < 0.24),
        Answer(
            criterion="useful", call=call, answer=word if valid == "yes" else "no", reason="What came back was not known before." if word == "yes" else "Nothing that the task needs is different afterwards.",
            evidence=(quote,), cause="judge_unsure" if word == "undetermined" and valid == "yes" else None, settled_by="facts" if setback else "judge", rule="failed_result" if setback else None,
        ),
        Answer(criterion="recovery", answer="yes" if recovers else "not_applicable", reason="It corrects the path of an earlier step." if recovers else "", evidence=(quote,) if recovers else (), fixes=(step.index - 2,) if recovers else ()),
    )  # fmt: skip
    facts = (Fact(name="failed_result", call=1, detail="exit code 1", settles=True),) if setback else ()
    return step_score(step, answers, facts)


def _checks(chance: random.Random) -> tuple[CheckResult, ...]:
    luck = chance.random()
    outcome = "error" if luck < 0.05 else "fail" if luck < 0.35 else "pass"
    reasons = {
        "pass": "41 tests passed, as expected",
        "fail": "1 of 41 tests failed: test_total",
        "error": "the command did not end within 60 s",
    }
    evidence = (CheckEvidence.of("tests/report.xml", "tests/test_invoice.py::test_total\nE   assert 10.01 == 10.0"),)
    return (
        CheckResult(name="tests", kind="junit", outcome=outcome, reason=reasons[outcome], evidence=evidence, digest="sha256:a3", seconds=3.21),
        CheckResult(name="untouched", kind="git", outcome="pass", reason="the diff touches only src/shop", digest="sha256:b4", seconds=0.04),
    )  # fmt: skip


def _truth(answer: Answer) -> bool | None:
    return {"yes": True, "no": False}.get(answer.answer)
