"""Trial files are attempts that lie on disk: folders `TASK/N/`, an index `trials.jsonl`, or single traces."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, ValidationError

from stepjudge.enclosure import leads_out
from stepjudge.errors import StepjudgeError, UnreadableTrace
from stepjudge.formats import read_file
from stepjudge.suite import Suite
from stepjudge.trace import Trace
from stepjudge.trial import Measurements, Trial, TrialError, measured
from stepjudge.value import JsonObject, Value

MAX_OUTPUT_BYTES = 10 * 2**20
MAX_LINE_BYTES = 100 * 2**20


class BadTrials(StepjudgeError):
    """What was named holds no trials of this suite: where, and how to mend it."""


class TrialFile(Value):
    """A line of an index, or the `trial.json` in a trial's folder. Paths are relative to the file they stand in.

    They stay below the folder that was named as a source, unless `find_trials` is told to let them out.
    """

    task_id: str | None = None
    trial: int | None = Field(default=None, ge=1)
    id: str | None = None
    status: Literal["completed", "partial", "failed"] = "completed"
    trace: str | None = None
    format: str | None = None
    """Name of the trace's format; detected when null."""
    output: str | None = None
    """A file that holds the final output."""
    output_text: str | None = None
    environment: str | None = None
    error: TrialError | None = None
    measurements: Measurements = Measurements()
    metadata: JsonObject = Field(default_factory=dict[str, JsonValue])


class FoundTrial(Value):
    """Where one attempt lies. Its task and number are known before it is read."""

    id: str
    task_id: str
    trial: int
    folder: str
    file: TrialFile


def find_trials(
    suite: Suite, sources: Sequence[str], *, format: str | None = None, allow_outside: bool = False
) -> tuple[FoundTrial, ...]:
    """The trials that the sources hold, in the suite's order: tasks, then passes.

    A source is a folder of `TASK/N/` (or one that has such a folder `trials`), a `trials.jsonl` or a folder with one,
    or `TASK=FILE`; a trace FILE alone will do when the suite has one task.

    Trials are often somebody else's: what they name must lie in the source's own folder, all links followed, unless
    `allow_outside`. Raises BadTrials.
    """
    found: list[FoundTrial] = []
    for source in sources:
        files = list(_in_source(suite, source, format))
        if not allow_outside:
            for folder, each in files:
                _keep_inside(source, _root(suite, source), folder, each)
        numbers = {task: sum(each.task_id == task for each in found) for task in suite.by_id}
        found += [_numbered(each, folder, numbers, suite) for folder, each in files]
    if not found:
        raise BadTrials(f"{', '.join(sources)}: holds no trial of suite {suite.name!r}")
    _refuse_repeats(found)
    order = list(suite.by_id)
    return tuple(sorted(found, key=lambda each: (order.index(each.task_id), each.trial, each.id)))


def read_trial(found: FoundTrial) -> Trial:
    """The trial. What cannot be read of it is the harness's failure: it is `failed` then, and says why."""
    file, folder = found.file, Path(found.folder)
    error = file.error
    try:
        trace = _trace(folder / file.trace, file.format) if file.trace else None
        output = _text(folder / file.output) if file.output else file.output_text
    except (UnreadableTrace, BadTrials) as failure:
        trace, output = None, None
        error = TrialError(type=type(failure).__name__, message=str(failure))
        file = file.model_copy(update={"status": "failed"})
    if file.status == "failed" and error is None:
        error = TrialError(type="Unknown", message="the trial says that it failed, and not why")
    if output is None and trace is not None:
        output = trace.final_output
    return Trial(
        id=found.id,
        task_id=found.task_id,
        trial=found.trial,
        status=file.status,
        output_text=output,
        trace=trace,
        environment=str((folder / file.environment).absolute()) if file.environment else None,
        error=error,
        measurements=measured(file.measurements, trace),
        metadata=file.metadata,
    )


def _in_source(suite: Suite, source: str, format: str | None) -> Iterator[tuple[Path, TrialFile]]:
    name, equals, rest = source.partition("=")
    path = Path(source)
    if equals and name in suite.by_id and not path.exists():
        yield from _single(name, Path(rest), format)
    elif path.name.endswith("trials.jsonl") and path.is_file():
        yield from _index(path)
    elif (path / "trials.jsonl").is_file():
        yield from _index(path / "trials.jsonl")
    elif path.is_dir() and not list(path.glob("trace.*")):
        yield from _folders(suite, path / "trials" if (path / "trials").is_dir() else path, format)
    elif len(suite.tasks) == 1:
        yield from _single(suite.tasks[0].id, path, format)
    elif path.exists():
        raise BadTrials(f"{source}: of which task? Write TASK={source}, where TASK is {_listed(suite)}")
    else:
        raise BadTrials(f"{source}: there is no such file or folder")


def _root(suite: Suite, source: str) -> Path | None:
    """The folder that trials of a source stay in; null where a file was named by hand."""
    name, equals, rest = source.partition("=")
    path = Path(rest) if equals and name in suite.by_id and not Path(source).exists() else Path(source)
    if path.is_dir():
        return path
    return path.parent if path.name.endswith("trials.jsonl") else None


def _keep_inside(source: str, root: Path | None, folder: Path, file: TrialFile) -> None:
    for field in ("trace", "output", "environment"):
        named: str | None = getattr(file, field)
        if root is not None and named and leads_out(root, folder / named):
            raise BadTrials(
                f"{folder}: the {field} {named!r} of a trial lies outside of {source}: copy it there, "
                "or say --allow-outside if you trust whoever made these trials"
            )


def _single(task_id: str, path: Path, format: str | None) -> Iterator[tuple[Path, TrialFile]]:
    """A trace, or the folder of one trial."""
    if path.is_dir() and (file := _folder(path, format)):
        yield path, file.model_copy(update={"task_id": task_id})
        return
    if not path.is_file():
        raise BadTrials(f"{path}: there is no such file")
    _trace(path, format)  # named by hand: what is wrong with it is said at once
    yield path.parent, TrialFile(task_id=task_id, trace=path.name, format=format)


def _folders(suite: Suite, root: Path, format: str | None) -> Iterator[tuple[Path, TrialFile]]:
    for task in sorted(each for each in root.iterdir() if each.is_dir() and not each.name.startswith(".")):
        if task.name not in suite.by_id:
            raise BadTrials(f"{task}: the suite has no task {task.name!r}; its tasks are {_listed(suite)}")
        if file := _folder(task, format):
            yield task, file.model_copy(update={"task_id": task.name})
            continue
        # not isdigit, which takes ² too, of which int makes no number
        numbered = (each for each in task.iterdir() if re.fullmatch("[0-9]+", each.name))
        for folder in sorted(numbered, key=lambda each: int(each.name)):
            file = _folder(folder, format) or TrialFile(
                status="failed", error=TrialError(type="NoTrial", message=f"{folder} has no trace.* and no output.txt")
            )
            yield folder, file.model_copy(update={"task_id": task.name, "trial": int(folder.name)})


def _folder(folder: Path, format: str | None) -> TrialFile | None:
    """What the folder of one trial holds; null when it is none."""
    stated = folder / "trial.json"
    traces = sorted(each.name for each in folder.glob("trace.*"))
    has_output = (folder / "output.txt").exists()
    if not (traces or has_output or stated.exists()):
        return None
    file = _stated(stated, _text(stated)) if stated.exists() else TrialFile()
    if len(traces) > 1 and file.trace is None:
        raise BadTrials(f"{folder}: which trace? It has {', '.join(traces)}: keep one, or name it in trial.json")
    guessed: dict[str, str | None] = {
        "trace": traces[0] if traces else None,
        "format": format,
        "output": "output.txt" if has_output and file.output_text is None else None,
        "environment": "environment" if (folder / "environment").is_dir() else None,
    }
    return file.model_copy(update={key: value for key, value in guessed.items() if getattr(file, key) is None})


def _index(path: Path) -> Iterator[tuple[Path, TrialFile]]:
    for number, line in enumerate(_text(path, MAX_LINE_BYTES).splitlines(), start=1):
        if line.strip():
            file = _stated(Path(f"{path}:{number}"), line)
            if file.task_id is None:
                raise BadTrials(f"{path}:{number}: the line has no 'task_id'")
            yield path.parent, file


def _stated(place: Path, text: str) -> TrialFile:
    try:
        return TrialFile.model_validate_json(text)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        where = ".".join(map(str, detail["loc"]))
        raise BadTrials(f"{place}: {f'{where}: ' if where else ''}{detail['msg']}") from error


def _numbered(file: TrialFile, folder: Path, numbers: dict[str, int], suite: Suite) -> FoundTrial:
    task_id = file.task_id or ""
    if task_id not in suite.by_id:
        raise BadTrials(f"{folder}: the suite has no task {task_id!r}; its tasks are {_listed(suite)}")
    numbers[task_id] += 1
    number = file.trial or numbers[task_id]
    trial_id = file.id or f"{task_id}.{number}"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+@=-]{0,199}", trial_id):
        raise BadTrials(f"{folder}: the trial id {trial_id!r} holds more than letters, digits and . _ + @ = -")
    return FoundTrial(id=trial_id, task_id=task_id, trial=number, folder=str(folder), file=file)


def _refuse_repeats(found: Sequence[FoundTrial]) -> None:
    first: dict[str, FoundTrial] = {}
    for each in found:
        if each.id in first:
            both = f"{first[each.id].folder} and {each.folder}"
            raise BadTrials(f"trial {each.id!r} stands twice, in {both}: give each an id or a number of its own")
        first[each.id] = each


def _trace(path: Path, format: str | None) -> Trace:
    # opening a FIFO waits for a writer that never comes
    if path.exists() and not path.is_file() and not path.is_dir():
        raise BadTrials(f"{path}: is no regular file")
    traces = read_file(path, format=format)
    first = next(traces)
    if next(traces, None) is not None:
        raise BadTrials(f"{path}: holds more than one trace, and a trial has one: split it")
    return first


def _text(path: Path, limit: int = MAX_OUTPUT_BYTES) -> str:
    if not path.is_file():
        raise BadTrials(f"{path}: there is no such regular file")
    with path.open("rb") as file:
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise BadTrials(f"{path}: is longer than {limit:,} bytes")
    return raw.decode(errors="replace")


def _listed(suite: Suite) -> str:
    ids = list(suite.by_id)
    return ", ".join(ids[:10]) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")
