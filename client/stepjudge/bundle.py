"""A bundle is the folder that a run leaves: tasks, trials, scores and summary, complete or not there at all.

Its layout is NeMo Evaluator's (`run.json`, `metadata.json`, `tasks.jsonl`, `trials.jsonl`, `scores.jsonl`,
`summary.json`), with `schema_version` and what is needed to reproduce the run. `run.json` is written last and holds
the digest of every other file, so that a bundle is one run's whole or is refused.
"""

import hashlib
import json
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue, ValidationError

from stepjudge.bundle_rows import OURS, relative, score_rows, task_row, trial_row, trial_score
from stepjudge.bundle_summary import nemo_summary
from stepjudge.errors import StepjudgeError, UnreadableTrace
from stepjudge.formats import read_bytes, read_document
from stepjudge.formats.to_atif import to_atif
from stepjudge.summary import Summary
from stepjudge.task import Task
from stepjudge.trace import Trace
from stepjudge.trial import Trial, TrialScore, measured
from stepjudge.value import JsonObject
from stepjudge.whole import write_whole

SCHEMA_VERSION = "1"
FILES = {
    "metadata": "metadata.json",
    "tasks": "tasks.jsonl",
    "trials": "trials.jsonl",
    "scores": "scores.jsonl",
    "summary": "summary.json",
}
REPORT = "report.html"
_OWN_TRACE = "trace:stepjudge"


class BadBundle(StepjudgeError):
    """The folder holds no bundle that can be read: which file, and what is wrong with it."""


@dataclass(frozen=True)
class Bundle:
    """A run, as it was written."""

    folder: Path
    run: JsonObject
    metadata: JsonObject
    """`target`, times and labels; under `stepjudge` what is needed to reproduce the run."""
    tasks: tuple[Task, ...]
    trials: tuple[Trial, ...]
    scores: tuple[TrialScore, ...]
    """In the order of the trials."""
    summary: Summary


def is_bundle(folder: Path) -> bool:
    """Whether a run was finished in this folder."""
    return (folder / "run.json").is_file() and (folder / FILES["trials"]).is_file()


def write_bundle(
    folder: Path,
    *,
    run_id: str,
    metadata: JsonObject,
    tasks: Sequence[Task],
    scored: Sequence[tuple[Trial, TrialScore]],
    summed_up: Summary,
    judged: bool,
) -> None:
    """Write a run. A reader sees all of it, or what stood there before, or is told that it is in between."""
    folder.mkdir(parents=True, exist_ok=True)
    trials = [trial for trial, _ in scored]
    task_rows = [task_row(task, judged=judged) for task in tasks]
    index = {task.id: number for number, task in enumerate(tasks)}
    rows = [
        row for trial, score in scored for row in score_rows(run_id, index[trial.task_id], trial, score, judged=judged)
    ]
    summary: JsonObject = {
        "schema_version": SCHEMA_VERSION,
        **nemo_summary(rows, task_rows, trials),
        OURS: summed_up.model_dump(mode="json"),
    }
    contents = {
        FILES["metadata"]: _document({"schema_version": SCHEMA_VERSION, **metadata}),
        FILES["tasks"]: _lines(task_rows),
        FILES["trials"]: _lines(_with_evidence(folder, trial) for trial in trials),
        FILES["scores"]: _lines(rows),
        FILES["summary"]: _document(summary),
    }
    for name, content in contents.items():
        write_whole(folder / name, content)
    _forget(folder, trials)
    digests: JsonObject = {name: f"sha256:{hashlib.sha256(content).hexdigest()}" for name, content in contents.items()}
    write_run(folder, run_id, digests)


def write_run(folder: Path, run_id: str, digests: JsonObject) -> None:
    """The manifest. A report is named in it when there is one."""
    report = folder / REPORT
    run: JsonObject = {
        "schema_version": SCHEMA_VERSION,
        "run_id": run_id,
        "output_dir": str(folder.absolute()),
        "dashboard_path": str(report.absolute()) if report.exists() else None,
        "artifacts": dict(FILES),
        "digests": digests,
    }
    write_whole(folder / "run.json", _document(run))


def read_bundle(folder: Path) -> Bundle:
    """The run in a folder. Raises BadBundle."""
    run = _json(folder / "run.json")
    _refuse_mixture(folder, run)
    try:
        rows: dict[str, list[JsonObject]] = defaultdict(list)
        for row in _rows(folder / FILES["scores"]):
            rows[str(row["trial_id"])].append(row)
        trials = read_trials(folder)
        summary = _json(folder / FILES["summary"])
        return Bundle(
            folder=folder,
            run=run,
            metadata=_json(folder / FILES["metadata"]),
            tasks=tuple(Task.model_validate(row.get(OURS)) for row in _rows(folder / FILES["tasks"])),
            trials=trials,
            scores=tuple(trial_score(rows[trial.id]) for trial in trials),
            summary=Summary.model_validate(summary.get(OURS)),
        )
    except (ValidationError, KeyError, TypeError) as error:
        raise BadBundle(f"{folder}: is no bundle of stepjudge's: {error}") from error


def read_trials(folder: Path) -> tuple[Trial, ...]:
    """The trials of a bundle, of one that NeMo Evaluator wrote too. Raises BadBundle."""
    trials: list[Trial] = []
    for number, row in enumerate(_rows(folder / FILES["trials"]), start=1):
        passes = sum(trial.task_id == row.get("task_id") for trial in trials)
        try:
            trials.append(_trial(folder, row, passes + 1))
        except (ValidationError, UnreadableTrace) as error:
            raise BadBundle(f"{folder / FILES['trials']}:{number}: {error}") from error
    return tuple(trials)


def _trial(folder: Path, row: JsonObject, number: int) -> Trial:
    metadata = _object(row.get("metadata"))
    ours = _object(metadata.pop(OURS, None))
    descriptors = _object(_object(row.get("evidence")).get("descriptors"))
    error = _object(row.get("error"))
    if error and ours.get("occurred_at") is not None:
        error["occurred_at"] = ours["occurred_at"]
    output = _object(row.get("output")).get("output_text")
    trace = _trace(folder, descriptors)
    trial = Trial.model_validate(
        {
            **{key: row.get(key) for key in ("id", "task_id", "status")},
            "trial": ours.get("trial", number),
            "output_text": output,
            "trace": trace,
            "environment": _environment(folder, _object(descriptors.get("final_state")).get("ref")),
            "error": error or None,
            "measurements": _object(row.get("measurements")),
            "metadata": metadata,
        }
    )
    return trial if ours else trial.model_copy(update={"measurements": measured(trial.measurements, trace)})


def _trace(folder: Path, descriptors: JsonObject) -> Trace | None:
    for name, format in ((_OWN_TRACE, "stepjudge"), ("trace", None), ("trace:atif", "atif")):
        descriptor = _object(descriptors.get(name))
        if (data := descriptor.get("data")) is not None:
            return next(read_document(data, format=format))
        if isinstance(ref := descriptor.get("ref"), str):
            path = _inside(folder, ref)
            return next(read_bytes(path.read_bytes(), format=format, name=str(path)))
    return None


def _environment(folder: Path, ref: JsonValue) -> str | None:
    if not isinstance(ref, str):
        return None
    return ref if Path(ref).is_absolute() else str(_inside(folder, ref).absolute())


def _inside(folder: Path, ref: str) -> Path:
    """What a bundle refers to must lie in it: it may come from somebody else."""
    path = folder / ref
    if not path.resolve().is_relative_to(folder.resolve()):
        raise BadBundle(f"{folder}: refers to {ref!r}, which is outside of the bundle")
    if not path.exists() or not (path.is_file() or path.is_dir()):
        raise BadBundle(f"{folder}: refers to {ref!r}, which is not there")
    return path


def _with_evidence(folder: Path, trial: Trial) -> JsonObject:
    environment = relative(trial.environment, folder) if trial.environment is not None else None
    evidence: dict[str, str] = {}
    if trial.trace is not None:
        place = folder / "evidence" / trial.id
        place.mkdir(parents=True, exist_ok=True)
        for name, file, document in (
            ("trace", "trace.atif.json", to_atif(trial.trace)),
            (_OWN_TRACE, "trace.json", trial.trace.model_dump(mode="json", exclude_defaults=True)),
        ):
            write_whole(place / file, json.dumps(document).encode() + b"\n")
            evidence[name] = relative(str(place / file), folder)
    return trial_row(trial, evidence, environment)


def _forget(folder: Path, trials: Iterable[Trial]) -> None:
    """Evidence of trials that are not in the run any more."""
    kept = {trial.id for trial in trials if trial.trace is not None}
    evidence = folder / "evidence"
    for each in evidence.iterdir() if evidence.is_dir() else ():
        if each.name not in kept:
            shutil.rmtree(each, ignore_errors=True)


def _refuse_mixture(folder: Path, run: JsonObject) -> None:
    for name, stated in _object(run.get("digests")).items():
        if name not in FILES.values():
            raise BadBundle(f"{folder / 'run.json'}: names {name!r}, which is no file of a bundle")
        if f"sha256:{hashlib.sha256(_bytes(folder / name)).hexdigest()}" != stated:
            raise BadBundle(f"{folder / name}: is not what run.json says: it was changed, or a run was stopped here")


def _document(value: JsonObject) -> bytes:
    return json.dumps(value, indent=2, sort_keys=True).encode() + b"\n"


def _lines(rows: Iterable[JsonObject]) -> bytes:
    return b"".join(json.dumps(row, sort_keys=True).encode() + b"\n" for row in rows)


def _bytes(path: Path) -> bytes:
    if not path.is_file():
        raise BadBundle(f"{path}: there is no such file: this is no bundle")
    return path.read_bytes()


def _json(path: Path) -> JsonObject:
    try:
        document: JsonValue = json.loads(_bytes(path))
    except ValueError as error:
        raise BadBundle(f"{path}: is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise BadBundle(f"{path}: is no JSON object")
    return document


def _rows(path: Path) -> Iterator[JsonObject]:
    for number, line in enumerate(_bytes(path).splitlines(), start=1):
        try:
            row: JsonValue = json.loads(line)
        except ValueError as error:
            raise BadBundle(f"{path}:{number}: is no JSON: {error}") from error
        if not isinstance(row, dict):
            raise BadBundle(f"{path}:{number}: is no JSON object")
        yield row


def _object(value: JsonValue) -> JsonObject:
    return {key: value[key] for key in value} if isinstance(value, dict) else {}
