"""A run by somebody who wants the report to run their code, to lie about what it shows, or to break."""

from report.made import MadeRun, card, scored, step_score
from stepjudge.checks.check import CheckEvidence, CheckResult
from stepjudge.contract import Recovery
from stepjudge.task import Task
from stepjudge.trace import Attachment, Call, Message, Result, Step, Tool, Trace
from stepjudge.trial import Measurements, Trial, TrialError
from stepjudge.verdict import Answer, Cut, Evidence, Fact
from stepjudge.view import Signal, View, ViewValue

EVIL = (
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    "<!--<script>",
    "</style></title></textarea><svg onload='window.hacked = 1'>",
    "<img src=x onerror=window.hacked=1>",
    "\" onmouseover='window.hacked = 1' autofocus onfocus='window.hacked = 1' x=\"",
    "javascript:window.hacked=1",
    "{{ 7 * 7 }}{% raw %}${window.hacked = 1}",
    "\u202egnp.exe\u2066\u200b\U000e0041",
    "\x1b[2J\x1b]0;title\x07\x00\x85",
    "\ud800 \udcff \ufffd",
    "__proto__",
    "W" * 3_000,
)
"""Each of them, and below all of them at once."""
ALL = " ".join(EVIL)
HUGE = "x" * 1_000_000


def hostile_run() -> MadeRun:
    """Everything that a trace, a suite or a bundle can say is hostile."""
    step = Step(
        index=1, turn=1, llm_call=1, before=(Message(role="user", text=ALL, name=ALL),), message=ALL, reasoning=ALL,
        calls=(
            Call(
                name=ALL,
                arguments={ALL: ALL, "__proto__": {"polluted": True}, "constructor": [ALL]},
                result=Result(text=ALL + HUGE, state="present", is_error=True, attachments=(Attachment(kind=ALL, source=ALL),)),
            ),
            Call(name=ALL, arguments_raw=ALL, arguments_state="unparsed"),
        ),
        observation=Result(text=ALL, state="present"), agent=ALL, model=ALL, started_at=ALL,
    )  # fmt: skip
    trace = Trace(
        trace_id=ALL, source_format=ALL, agent=ALL, model=ALL, system=ALL, task=ALL, notes=(ALL,),
        tools=(Tool(name=ALL, description=ALL, parameters={ALL: ALL}),), steps=(step,), after=(Message(role="tool", text=ALL),),
    )  # fmt: skip
    answers = tuple(
        Answer(criterion=name, call=1, answer="no", reason=ALL, rule=ALL, evidence=(Evidence(place=place, quote=quote), Evidence(place=ALL, quote=ALL)))
        for name, place, quote in (("valid", "s1.c1.result", EVIL[0]), (ALL, "s1.message", ALL), ("useful", "s1.c1.arguments", EVIL[4]))
    )  # fmt: skip
    judged = step_score(step, answers, (Fact(name=ALL, detail=ALL),)).model_copy(
        update={"cuts": (Cut(place=ALL, shown_head=1, shown_tail=1, length=9),), "verdict_id": ALL}
    )
    carded = card(trace, [judged], [Recovery(step=1, fixes=(10**12,))]).model_copy(
        update={"judge": ALL, "judge_note": ALL, "total_steps": 10**12}
    )
    check = CheckResult(
        name=ALL, kind=ALL, outcome="fail", reason=ALL, digest=ALL, seconds=1, evidence=(CheckEvidence(place=ALL, text=ALL),)
    )  # fmt: skip
    task = Task(
        id="t", intent=ALL, inputs={ALL: ALL}, views={ALL: View(reducer="single", signals=(Signal(source=f"check.{ALL}"),))}
    )  # fmt: skip
    error = TrialError(type=ALL, message=ALL, traceback=ALL)
    trials = [
        Trial(id=name, task_id="t", trial=number, status="partial", output_text=ALL, trace=trace, error=error, environment=ALL, metadata={ALL: float("nan")}, measurements=Measurements(cost_usd=1e300))
        for number, name in enumerate(("a", "b"), start=1)
    ]  # fmt: skip
    scores = [
        scored(trial, carded, (check,)).model_copy(
            update={
                "trial_id": f"{ALL}/{number}?#%",
                "task_id": ALL if number else "t",
                "views": {ALL: ViewValue(value=None, why=ALL)},
            }
        )
        for number, trial in enumerate(trials)
    ]
    renamed = [trial.model_copy(update={"id": score.trial_id}) for trial, score in zip(trials, scores, strict=True)]
    return MadeRun((task,), tuple(renamed), tuple(scores))
