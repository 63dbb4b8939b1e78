"""A runner lets a target attempt a task and makes a trial of what comes back, whatever goes wrong."""

import time
import traceback
from datetime import UTC, datetime
from pathlib import Path

import anyio

from stepjudge.targets.target import Assignment, Delivery, Target
from stepjudge.task import Task
from stepjudge.trial import Measurements, Trial, TrialError, measured

_TRACEBACK_CHARACTERS = 4_000


async def attempted(target: Target, task: Task, trial: int, workspace: Path, *, timeout_s: float | None) -> Trial:
    """The trial of one attempt.

    An exception is the harness's failure: the trial is `failed`. An attempt that took too long was stopped: the trial
    is `partial`, and what it left in its workspace is scored.
    """
    await anyio.Path(workspace).mkdir(parents=True, exist_ok=True)
    place = str(await anyio.Path(workspace).absolute())
    assignment = Assignment(task_id=task.id, trial=trial, inputs=task.inputs, workspace=place)
    began = time.monotonic()
    delivery = _stopped(timeout_s)
    with anyio.move_on_after(timeout_s):
        delivery = await _delivered(target, assignment)
    return _trial(task, trial, delivery, _environment(delivery, workspace), time.monotonic() - began)


async def _delivered(target: Target, assignment: Assignment) -> Delivery:
    try:
        return await target.attempt(assignment)
    # The target is somebody else's code: whatever it raises is the harness's failure, and a value from here on.
    except Exception as error:
        return _failed(error)


def _trial(task: Task, trial: int, delivery: Delivery, environment: str | None, seconds: float) -> Trial:
    output = delivery.output_text
    if output is None and delivery.trace is not None:
        output = delivery.trace.final_output
    status, error = delivery.status, delivery.error
    if status == "failed" and error is None:
        error = TrialError(type="Unknown", message="the target said that the attempt failed, and not why")
    found = measured(delivery.measurements, delivery.trace)
    return Trial(
        id=f"{task.id}.{trial}",
        task_id=task.id,
        trial=trial,
        status=status,
        output_text=output,
        trace=delivery.trace,
        environment=environment,
        error=error,
        measurements=found if found.runtime_sec is not None else _with_runtime(found, seconds),
        metadata=delivery.metadata,
    )


def _with_runtime(measurements: Measurements, seconds: float) -> Measurements:
    return measurements.model_copy(update={"runtime_sec": round(seconds, 3)})


def _environment(delivery: Delivery, workspace: Path) -> str | None:
    if delivery.environment is not None:
        return delivery.environment
    if any(workspace.iterdir()):
        return str(workspace.absolute())
    workspace.rmdir()
    return None


def _stopped(timeout_s: float | None) -> Delivery:
    error = TrialError(type="TimeLimit", message=f"stopped after {timeout_s} s", occurred_at=_now())
    return Delivery(status="partial", error=error)


def _failed(error: Exception) -> Delivery:
    lines = "".join(traceback.format_exception(error))
    found = TrialError(
        type=type(error).__name__,
        message=str(error) or type(error).__name__,
        traceback=lines[-_TRACEBACK_CHARACTERS:],
        occurred_at=_now(),
    )
    return Delivery(status="failed", error=found)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
