"""A bundle's rows are tasks, trials and scores as NeMo Evaluator's readers know them, with ours where they are free."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue

from stepjudge.checks import CheckResult, names, read_check
from stepjudge.contract import Scorecard
from stepjudge.metric import rate
from stepjudge.task import Task
from stepjudge.trial import Trial, TrialScore
from stepjudge.value import JsonObject
from stepjudge.view import READINGS, Signal, View

JUDGE = "step_judge"
OUTCOME = "outcome"
OURS = "stepjudge"
"""The key under which a row carries what NeMo has no field for."""

_REDUCERS = {"single": "single", "mean": "mean", "weighted_mean": "weighted_mean", "all": "all", "any": "any"} | {
    "min": "all",
    "max": "any",
}
"""NeMo's name for each reducer: its `all` is the least and its `any` the greatest. It has no gate."""


def task_row(task: Task, *, judged: bool) -> JsonObject:
    """A line of `tasks.jsonl`. The whole task stands under our key."""
    checks = names([read_check(document) for document in task.checks])
    metrics: list[JsonValue] = [_metric(f"check.{name}", ["passed"]) for name in checks]
    if judged:
        metrics.append(_metric(JUDGE, [*_RATES, "steps_judged", "undetermined_answers"]))
    metrics.append(_metric(OUTCOME, ["success", "steps", "calls", "turns", *(f"view.{name}" for name in task.views)]))
    views = {name: _view(view, checks) for name, view in task.views.items() if _translates(view, judged=judged)}
    return {
        "id": task.id,
        "intent": task.intent,
        "inputs": task.inputs,
        "reference": task.reference,
        "metrics": metrics,
        "views": dict(views),
        "metadata": task.metadata,
        OURS: task.model_dump(mode="json"),
    }


def trial_row(trial: Trial, evidence: Mapping[str, str], environment: str | None) -> JsonObject:
    """A line of `trials.jsonl`. `evidence` maps names of trace descriptors to files of the bundle."""
    descriptors: JsonObject = {
        name: _descriptor("trace", ref, format=name.partition(":")[2] or "atif") for name, ref in evidence.items()
    }
    if environment is not None:
        descriptors["final_state"] = _descriptor("filesystem", environment, format="dir", role="final_state")
    has_output = trial.status != "failed" or trial.output_text is not None
    output: JsonValue = {"output_text": trial.output_text, "response": None, "metadata": {}} if has_output else None
    ours: JsonObject = {"trial": trial.trial, "occurred_at": trial.error.occurred_at if trial.error else None}
    return {
        "id": trial.id,
        "task_id": trial.task_id,
        "status": trial.status,
        "output": output,
        "evidence": {"descriptors": descriptors, "metadata": {}} if descriptors else None,
        "error": _error(trial),
        "measurements": _measurements(trial),
        "metadata": {**trial.metadata, OURS: ours},
    }


def score_rows(run_id: str, index: int, trial: Trial, score: TrialScore, *, judged: bool) -> Iterator[JsonObject]:
    """The lines of `scores.jsonl` for one trial: one for each check, one for the judge, one for the outcome."""

    def row(metric: str, outputs: Mapping[str, float | None], ours: JsonValue, error: str | None) -> JsonObject:
        failed = score.status == "failed" or error is not None
        details: JsonObject = {"trial_status": "failed"} if score.status == "failed" else {"reason": "error"}
        message = trial.error.message if trial.error and score.status == "failed" else error
        diagnostic: JsonObject = {"severity": "error", "message": message or "", "source": metric, "details": details}
        return {
            "id": f"{run_id}:{score.task_id}:{score.trial_id}:{metric}",
            "run_id": run_id,
            "task_id": score.task_id,
            "trial_id": score.trial_id,
            "metric_type": metric,
            "status": "failed" if failed else "completed",
            "outputs": [{"name": name, "value": value} for name, value in outputs.items() if value is not None],
            "diagnostics": [diagnostic] if failed else [],
            "metadata": {"row_index": index, "trial_metadata": trial.metadata, OURS: ours},
        }

    for check in score.checks:
        error = check.reason if check.outcome == "error" else None
        yield row(f"check.{check.name}", {"passed": _passed(check)}, check.model_dump(mode="json"), error)
    if judged:
        card = score.scorecard
        yield row(JUDGE, _rates(card), card.model_dump(mode="json") if card else None, score.judge_error)
    rest = score.model_dump(mode="json", exclude={"checks", "scorecard"})
    yield row(OUTCOME, _outcome(score), rest, None)


def trial_score(rows: Sequence[JsonObject]) -> TrialScore:
    """The score of one trial, from its rows."""
    checks: list[JsonValue] = []
    card: JsonValue = None
    rest: JsonObject = {}
    for row in rows:
        metadata = row["metadata"]
        ours = metadata.get(OURS) if isinstance(metadata, dict) else None
        if row["metric_type"] == JUDGE:
            card = ours
        elif row["metric_type"] == OUTCOME and isinstance(ours, dict):
            rest = ours
        else:
            checks.append(ours)
    return TrialScore.model_validate({**rest, "checks": checks, "scorecard": card})


_RATES = ("step_level", "tool_call_precision", "argument_accuracy", "recovery_rate", "bad_rate")


def _rates(card: Scorecard | None) -> dict[str, float | None]:
    if card is None:
        return {}
    scores = card.scores
    return {
        "step_level": scores.step_level.value,
        "tool_call_precision": scores.tool_call_precision.value,
        "argument_accuracy": scores.argument_accuracy.value,
        "recovery_rate": scores.recovery_rate.value,
        "bad_rate": rate(step.bad for step in card.steps).value,
        "steps_judged": len(card.steps),
        "undetermined_answers": card.undetermined,
    }


def _passed(check: CheckResult) -> float | None:
    return {"pass": 1.0, "fail": 0.0, "error": None}[check.outcome]


def _outcome(score: TrialScore) -> dict[str, float | None]:
    return {
        "success": None if score.success is None else float(score.success),
        "steps": score.steps,
        "calls": score.calls,
        "turns": score.turns,
        **{f"view.{name}": view.value for name, view in score.views.items()},
    }


def _metric(name: str, outputs: Sequence[str]) -> JsonObject:
    counts = ("steps", "calls", "turns", "steps_judged", "undetermined_answers")
    return {
        "type": name,
        "outputs": [
            {
                "name": output,
                "description": None,
                "value_schema": "DiscreteScore" if output in counts else "ContinuousScore",
                "required": False,
            }
            for output in outputs
        ],
    }


def _translates(view: View, *, judged: bool) -> bool:
    sources = {signal.source for signal in view.signals}
    if sources & {f"score.{name}" for name in READINGS}:
        return False  # its rows have no place for readings that join outcome and steps
    return view.reducer in _REDUCERS and (judged or not any(source.startswith("score.") for source in sources))


def _view(view: View, checks: Sequence[str]) -> JsonObject:
    signals: list[JsonValue] = []
    for signal in view.signals:
        for metric, output in _sources(signal, checks):
            signals.append({"metric": metric, "output": output, "weight": signal.weight})
    return {"reducer": _REDUCERS[view.reducer], "signals": signals}


def _sources(signal: Signal, checks: Sequence[str]) -> list[tuple[str, str]]:
    family, _, name = signal.source.partition(".")
    match family:
        case "checks":
            return [(f"check.{each}", "passed") for each in checks]
        case "check":
            return [(signal.source, "passed")]
        case "score":
            return [(JUDGE, name)]
        case "view":
            return [(OUTCOME, signal.source)]
        case _:
            return [(OUTCOME, "success")]


def _descriptor(kind: str, ref: str, *, format: str, role: str | None = None) -> JsonObject:
    return {
        "kind": kind,
        "ref": ref,
        "format": format,
        "data": None,
        "description": None,
        "metadata": {"role": role} if role else {},
    }


def _error(trial: Trial) -> JsonValue:
    error = trial.error
    if error is None:
        return None
    return {
        "type": error.type.strip() or "Unknown",
        "message": error.message,
        "traceback": error.traceback,
        "occurred_at": error.occurred_at if _is_moment(error.occurred_at) else None,
    }


def _is_moment(text: str | None) -> bool:
    """Whether NeMo's reader takes it: it refuses the whole bundle for a time that is none."""
    try:
        datetime.fromisoformat(text or "")
    except ValueError:
        return False
    return True


def _measurements(trial: Trial) -> JsonObject:
    """NeMo takes a total only as the sum of both parts."""
    found = trial.measurements.model_dump(mode="json")
    prompt, completion = trial.measurements.prompt_tokens, trial.measurements.completion_tokens
    return {**found, "total_tokens": None if prompt is None or completion is None else prompt + completion}


def relative(path: str, folder: Path) -> str:
    """A path in the folder as one that moves with it; any other as it is."""
    try:
        return Path(path).resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return path
