"""A story is all that the report knows of one trial: what was done, step by step, and what was said of it."""

from collections.abc import Sequence

from pydantic import BaseModel, JsonValue

from stepjudge.contract import Scorecard, StepScore
from stepjudge.digest import canonical
from stepjudge.report.mark import Mark
from stepjudge.trace import Attachment, Call, Message, Result, Step, Trace
from stepjudge.trial import Trial, TrialScore
from stepjudge.value import JsonObject


def story(trial: Trial | None, score: TrialScore, marks: Sequence[Mark]) -> JsonObject:
    """What the page needs to tell a trial; its opening is told apart, since trials share theirs."""
    trace = trial.trace if trial else None
    return _filled(
        {
            "output": trial.output_text if trial else None,
            "error": _plain(trial.error) if trial and trial.error else None,
            "environment": trial.environment if trial else None,
            "metadata": dict(trial.metadata) if trial else None,
            "measurements": _plain(score.measurements),
            "checks": [_plain(check) for check in score.checks],
            "views": {name: _plain(value) for name, value in score.views.items()},
            "judge": _judge(score.scorecard) if score.scorecard else None,
            "judge_error": score.judge_error,
            "traced": trace is not None,
            "format": trace.source_format if trace else None,
            "agent": trace.agent if trace else None,
            "model": trace.model if trace else None,
            "notes": list(trace.notes) if trace else None,
            "after": [_message(message) for message in trace.after] if trace else None,
            "steps": _steps(trace, score.scorecard, marks),
        }
    )


def opening(trace: Trace) -> JsonObject:
    """What stood before the first step."""
    return _filled(
        {
            "system": trace.system,
            "task": trace.task,
            "attachments": _attachments(trace.task_attachments),
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": _json(tool.parameters) if tool.parameters is not None else "",
                }
                for tool in trace.tools
            ],
        }
    )


def _steps(trace: Trace | None, card: Scorecard | None, marks: Sequence[Mark]) -> list[JsonValue]:
    taken = {step.index: step for step in trace.steps} if trace else {}
    scores = {score.index: score for score in card.steps} if card else {}
    fixed_by = {step: each.step for each in (card.recoveries if card else ()) for step in each.fixes}
    return [
        _filled(
            {
                "n": mark.step,
                "tone": mark.tone,
                "flags": list(mark.flags),
                "fixed_by": fixed_by.get(mark.step),
                **(_step(taken[mark.step]) if mark.step in taken else {}),
                "score": _score(scores[mark.step]) if mark.step in scores else None,
            }
        )
        for mark in marks
    ]


def _step(step: Step) -> JsonObject:
    return {
        "turn": step.turn,
        "before": [_message(message) for message in step.before],
        "message": step.message,
        "reasoning": step.reasoning,
        "calls": [_call(call) for call in step.calls],
        "observation": _result(step.observation) if step.observation is not None else None,
        "attachments": _attachments(step.attachments),
        "agent": step.agent,
        "model": step.model,
        "usage": _plain(step.usage) if step.usage else None,
        "started": step.started_at,
    }


def _message(message: Message) -> JsonObject:
    return _filled(
        {
            "role": message.role,
            "name": message.name,
            "text": message.text,
            "attachments": _attachments(message.attachments),
        }
    )


def _call(call: Call) -> JsonObject:
    return _filled(
        {
            "name": call.name,
            # Name, text, and whether the text is a string's own; in canonical order, in which judges quote them
            "arguments": [
                [name, value if isinstance(value, str) else _json(value), isinstance(value, str)]
                for name, value in sorted(
                    (call.arguments or {}).items(), key=lambda pair: pair[0].encode("utf-16be", "surrogatepass")
                )
            ],
            "raw": call.arguments_raw,
            "state": call.arguments_state if call.arguments_state != "ok" else None,
            "result": _result(call.result),
            "subtraces": [f"{trace.trace_id}, {len(trace.steps)} steps" for trace in call.subtraces],
        }
    )


def _result(result: Result) -> JsonObject:
    about = [] if result.state == "present" else [_STATES[result.state]]
    about += ["error"] if result.is_error else []
    about += [result.error_kind.replace("_", " ")] if result.error_kind else []
    about += [f"exit code {result.exit_code}"] if result.exit_code is not None else []
    return _filled(
        {
            "text": result.text,
            "about": ", ".join(about),
            "wrong": bool(result.is_error or result.exit_code),
            "attachments": _attachments(result.attachments),
        }
    )


_STATES = {"empty": "empty", "missing": "not recorded", "truncated": "cut by the harness"}


def _attachments(attachments: Sequence[Attachment]) -> list[JsonValue]:
    return [" ".join(filter(None, (each.kind, each.media_type, each.source[:200]))) for each in attachments]


def _score(score: StepScore) -> JsonObject:
    return {
        "score": score.score,
        "passes": score.passes,
        "bad": score.bad,
        "settled_by": score.settled_by,
        "cached": score.cached,
        "cost_usd": score.cost_usd,
        "verdict_id": score.verdict_id,
        "inherits_from": list(score.inherits_from),
        "answers": dict(score.answers),
        "details": [_plain(answer) for answer in score.details],
        "facts": [_plain(fact) for fact in score.facts],
        "cuts": [_plain(cut) for cut in score.cuts],
    }


def _judge(card: Scorecard) -> JsonObject:
    return {
        "name": card.judge,
        "note": card.judge_note,
        "provisional": card.provisional,
        "rubric": f"{card.rubric.name}@{card.rubric.version}",
        "rubric_digest": card.rubric.digest,
        "range": card.range,
        "total_steps": card.total_steps,
        "grouping": card.grouping,
        "undetermined": card.undetermined,
        "answers": card.answers,
        "ungrounded": card.ungrounded,
        "causes": {str(cause): count for cause, count in card.causes.items()},
        "cost_usd": card.cost_usd,
        "requests": card.requests,
        "cached_steps": card.cached_steps,
        "scores": {
            name: {"numerator": rate.numerator, "denominator": rate.denominator, "undetermined": rate.undetermined}
            for name, rate in (
                ("Step-level score", card.scores.step_level),
                ("Tool-call precision", card.scores.tool_call_precision),
                ("Argument accuracy", card.scores.argument_accuracy),
                ("Recovery rate", card.scores.recovery_rate),
            )
        },
    }


def _plain(value: BaseModel) -> JsonObject:
    """Without what is at its default: thousands of nulls would be most of the file."""
    return value.model_dump(mode="json", exclude_defaults=True)


def _filled(value: JsonObject) -> JsonObject:
    return {name: item for name, item in value.items() if item not in (None, "", [], {}, False)}


def _json(value: JsonValue) -> str:
    return canonical(value).decode()
