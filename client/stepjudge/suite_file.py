"""A suite file is YAML that spells a suite, or a folder of such files. Every fault is reported by file and line."""

import difflib
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from stepjudge.checks import BadCheck, Check, names, read_check
from stepjudge.enclosure import leads_out
from stepjudge.errors import StepjudgeError
from stepjudge.suite import Suite
from stepjudge.suite_page import SuitePage, page_of, spelled
from stepjudge.task import Task
from stepjudge.value import Value
from stepjudge.view import Signal, View, view_faults
from stepjudge.yaml_page import Fault, NoPage, Place

_FREE = ("inputs", "reference", "checks", "metadata")
"""What a task holds that may be any JSON."""


class BadSuite(StepjudgeError):
    """The suite is not well formed: file, line, and how to mend it."""


def read_suite(path: Path) -> Suite:
    """The suite in one YAML file, or in a folder: `suite.yaml`, and a file for each task in `tasks/`.

    Raises BadSuite with one line `file:line:column: what is wrong` for each fault.
    """
    head, *files = _files(path)
    pages, faults = _pages(head, files)
    if head not in pages:
        raise BadSuite("\n".join(faults))
    found: list[tuple[Path, Place, Task]] = []
    suite = pages[head]
    faults += [spelled(head, fault) for fault in _misfits(suite, Suite, skip="tasks")]
    faults += [spelled(head, fault) for fault in _shape_of_tasks(suite, bool(files))]
    views = {} if faults else _views(suite)
    places = [(head, ("tasks", index)) for index in range(_count(suite))] + [(file, ()) for file in files]
    for file, place in places:
        if file not in pages:
            continue
        task, wrong = _task(pages[file], place, views)
        faults += [spelled(file, fault) for fault in wrong]
        if task is not None:
            found.append((file, place, task))
    faults += _twice(pages, found)
    if faults:
        raise BadSuite("\n".join(dict.fromkeys(faults)))
    document = {**suite.document, "tasks": [task for _, _, task in found]}
    return Suite.model_validate(document)


def suite_folder(path: Path) -> Path:
    """The folder that a suite's files lie in: hidden tests, expected folders and patches are found beside it."""
    return path if path.is_dir() else path.parent


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    head = next((path / name for name in ("suite.yaml", "suite.yml") if (path / name).exists()), None)
    if head is None:
        raise BadSuite(f"{path}: the folder has no suite.yaml: write one with 'name: …', and the tasks in tasks/*.yaml")
    tasks = path / "tasks"
    for each in (head, *sorted(tasks.glob("*"))):
        if leads_out(path, each):
            raise BadSuite(f"{each}: leads out of the suite's folder: put the file itself there")
    return [head, *sorted(each for each in tasks.glob("*") if each.suffix in (".yaml", ".yml"))]


def _pages(head: Path, files: Sequence[Path]) -> tuple[dict[Path, SuitePage], list[str]]:
    pages: dict[Path, SuitePage] = {}
    faults: list[str] = []
    for file in (head, *files):
        try:
            pages[file] = page_of(file, _in_suite if file == head else _in_task)
            faults += [spelled(file, fault) for fault in pages[file].faults]
        except NoPage as error:
            faults.append(spelled(file, error.fault))
    return pages, faults


def _in_task(place: Place) -> bool:
    return bool(place) and place[0] in _FREE


def _in_suite(place: Place) -> bool:
    return len(place) > 2 and place[0] == "tasks" and place[2] in _FREE


def _shape_of_tasks(page: SuitePage, has_files: bool) -> Iterator[Fault]:
    tasks = page.content.get("tasks")
    if tasks is not None and not isinstance(tasks, tuple):
        yield page.fault(("tasks",), "'tasks' must be a list: write '- id: …' for each task")
    elif not tasks and not has_files:
        yield page.fault(("tasks",), "the suite has no task: list them under 'tasks', or one file each in tasks/")


def _count(page: SuitePage) -> int:
    tasks = page.content.get("tasks")
    return len(tasks) if isinstance(tasks, tuple) else 0


def _views(page: SuitePage) -> dict[str, View]:
    views = page.document.get("views")
    return {name: View.model_validate(view) for name, view in views.items()} if isinstance(views, dict) else {}


def _task(page: SuitePage, place: Place, shared: Mapping[str, View]) -> tuple[Task | None, list[Fault]]:
    """The task at a place of a page, or what is wrong with it."""
    faults = list(_misfits(page, Task, place))
    if faults:
        return None, faults
    task = Task.model_validate(_at(page, place))
    checks: list[Check] = []
    for index, document in enumerate(task.checks):
        try:
            checks.append(read_check(document))
        except BadCheck as error:
            faults.append(page.fault((*place, "checks", index), str(error)))
    if not faults:
        faults = list(_incoherences(page, place, task, checks, shared))
    return (None, faults) if faults else (task, [])


def _incoherences(
    page: SuitePage, place: Place, task: Task, checks: Sequence[Check], shared: Mapping[str, View]
) -> Iterator[Fault]:
    given = [check.name for check in checks]
    repeated = [index for index, name in enumerate(given) if name is not None and name in given[:index]]
    for index in repeated:
        yield page.fault((*place, "checks", index), f"check {given[index]!r} stands twice: give it a name of its own")
    views = {**shared, **task.views}
    for text in [] if repeated else view_faults(views, names(checks), single_answer=task.single_answer):
        yield page.fault((*place, "views"), text)
    if task.success is not None and task.success not in views:
        known = ", ".join(views) or "none"
        yield page.fault((*place, "success"), f"'success' names no view: {task.success!r}; the views are {known}")


def _twice(pages: Mapping[Path, SuitePage], found: Sequence[tuple[Path, Place, Task]]) -> Iterator[str]:
    first: dict[str, str] = {}
    for file, place, task in found:
        fault = pages[file].fault((*place, "id"), "")
        if task.id in first:
            text = f"task {task.id!r} stands twice, first at {first[task.id]}: give each an id of its own"
            yield spelled(file, fault._replace(text=text))
        first.setdefault(task.id, f"{file}:{fault.line}")


def _at(page: SuitePage, place: Place) -> JsonValue:
    document: JsonValue = page.document
    for part in place:
        if isinstance(document, dict):
            document = document.get(str(part))
        elif isinstance(document, list):
            document = document[int(part)]
    return document


def _misfits(page: SuitePage, model: type[Value], place: Place = (), skip: str = "") -> Iterator[Fault]:
    """What does not fit the fields of a model. `skip` names a field that is looked at elsewhere."""
    document = _at(page, place)
    if skip and isinstance(document, dict):
        document = {key: value for key, value in document.items() if key != skip}
    try:
        model.model_validate(document)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            if not (skip and detail["loc"][:1] == (skip,)):
                key = detail["type"] == "extra_forbidden"
                yield page.fault((*place, *detail["loc"]), _told(detail, model), key=key)


def _told(detail: ErrorDetails, model: type[Value]) -> str:
    """One of pydantic's complaints in words for the author of a suite."""
    if not detail["loc"]:
        return f"a {model.__name__.lower()} must be a mapping: write lines of 'key: value'"
    *parents, last = detail["loc"]
    what = f"item {last + 1} of {parents[-1]!r}" if isinstance(last, int) and parents else repr(last)
    said = "empty" if detail["input"] is None else reprlib.repr(detail["input"])
    match detail["type"]:
        case "missing":
            return f"{_noun(parents, model)} has no {what}: add it"
        case "extra_forbidden":
            return f"unknown key {what}: {_known(str(last), parents, model)}"
        case "literal_error":
            return f"{what} is {said}: write {detail.get('ctx', {}).get('expected')}"
        case "string_type":
            return f"{what} must be text and is {said}: put the text in quotes"
        case "string_pattern_mismatch":
            return f"{what} is {said}: write letters, digits and . _ + @ = - only, at most 200"
        case "value_error":
            return f"{what}: {detail['msg'].removeprefix('Value error, ')}"
        case _:
            return f"{what} is {said}: {detail['msg']}"


def _model(parents: Sequence[int | str], model: type[Value]) -> type[Value]:
    """The model whose fields stand below these parents."""
    if "signals" in parents:
        return Signal
    return View if "views" in parents else model


def _noun(parents: Sequence[int | str], model: type[Value]) -> str:
    return f"the {_model(parents, model).__name__.lower()}"


def _known(key: str, parents: Sequence[int | str], model: type[Value]) -> str:
    fields = list(_model(parents, model).model_fields)
    close = difflib.get_close_matches(key[:40], fields, n=1)
    return f"did you mean {close[0]!r}?" if close else f"{_noun(parents, model)} takes {', '.join(fields)}"
