"""`stepjudge rubric optimize`: a judge that follows its rubric's words, and a model that proposes words from a list."""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stepjudge.client import JudgeClient
from stepjudge.rubric import Rubric
from stepjudge.rubric_file import read_rubric_file
from stepjudge.tuning.example import Example, NoExamples
from stepjudge.tuning.next_version import rubric_text
from stepjudge.tuning.split import split
from stepjudge.tuning.wording import reworded, wording

from fakes.provider import Provider, Request
from tuning_desk import DESK, RULE, Desk, judging, labelled, refunds

TASKS = 40


class Writer:
    """Proposes these definitions of `allowed`, one after the other and round again; judges as the desk's judge."""

    def __init__(self, definitions: Sequence[str]) -> None:
        self._definitions = definitions
        self.reflections: list[str] = []

    def __call__(self, request: Request) -> Any:
        if not request.model.endswith("writer"):
            return judging(request)
        self.reflections.append(request.user)
        definition = self._definitions[(len(self.reflections) - 1) % len(self._definitions)]
        words = json.loads(wording(DESK.criteria[0]).text)
        return {**words, "definition": definition}


@contextmanager
def writing(folder: Path, *definitions: str, tasks: int = TASKS) -> Generator[tuple[Desk, Writer]]:
    writer = Writer(definitions)
    with Provider(writer) as provider:
        desk = Desk(folder, provider)
        desk.labelled(tasks)
        yield desk, writer


def optimized(desk: Desk, *arguments: object) -> tuple[object, ...]:
    return (
        *("rubric", "optimize", desk.rubric(DESK), "--judge", "desk", "--reflector", "writer"),
        *("--labels", desk.folder / "labels.jsonl", "--output", desk.folder / "better.yaml", *arguments),
    )


def test_the_search_finds_the_words_that_the_judge_needs_and_proves_it_on_unseen_tasks(tmp_path: Path) -> None:
    wordy = ("Think about it carefully.", "Ask whether the customer is right.", f"Refunds are allowed if {RULE}.")
    with writing(tmp_path, *wordy) as (desk, writer):
        found = desk.json(*optimized(desk, "--max-metric-calls", 120))

    assert found["claimed"]
    assert found["conclusion"].startswith("On ")
    assert "that the search never saw: supported: under desk@1.1.0 the judge answers more often" in found["conclusion"]
    assert (found["search"]["first"], found["search"]["best"]) == (pytest.approx(0.75, abs=0.1), 1.0)
    written = read_rubric_file(tmp_path / "better.yaml")
    assert (written.reference, written.criterion("allowed").definition) == ("desk@1.1.0", wordy[-1])
    assert written.criterion("polite") == DESK.criterion("polite"), "nothing was wrong there"
    assert f"Proposed from desk@1.0.0 ({DESK.digest}) by writer." in (tmp_path / "better.yaml").read_text()
    assert all("Wrong: people say no." in request for request in writer.reflections)
    assert sum(found["tasks"]) == TASKS
    assert found["comparison"]["steps"] == found["steps"][2]
    reported = {flip["trace_id"] for flip in found["comparison"]["flips"]}
    assert reported
    assert found["cost_usd"] > 0


def test_where_no_words_help_nothing_is_claimed_and_nothing_is_written(tmp_path: Path) -> None:
    with writing(tmp_path, "Think about it.", "Think again.") as (desk, writer):
        found = desk.json(*optimized(desk, "--max-metric-calls", 80), status=1)
    assert (found["claimed"], found["file"], found["comparison"]) == (False, None, None)
    assert found["conclusion"].startswith("no better words were found")
    assert not (tmp_path / "better.yaml").exists()
    assert writer.reflections


def test_an_improvement_that_so_few_labels_cannot_support_is_not_claimed(tmp_path: Path) -> None:
    with writing(tmp_path, f"Refunds are allowed if {RULE}.", tasks=9) as (desk, _):
        found = desk.json(*optimized(desk, "--max-metric-calls", 60), status=1)
    assert found["search"]["best"] > found["search"]["first"]
    assert found["conclusion"].startswith("no improvement is claimed. On ")
    assert "no difference is supported by these labels" in found["conclusion"]
    assert not (tmp_path / "better.yaml").exists()


def test_what_is_there_is_never_written_over_and_nothing_is_paid_before_that_is_said(tmp_path: Path) -> None:
    with writing(tmp_path, RULE, tasks=9) as (desk, _):
        (tmp_path / "better.yaml").write_text("mine")
        assert "is there already and is not written over" in desk.refused(*optimized(desk))
        (tmp_path / "better.yaml").unlink()
        assert "desk@1.0.0 is there already, and versions never change" in desk.refused(
            *optimized(desk, "--version", "1.0.0")
        )
        assert desk.provider.count == 0


def test_a_search_ends_when_the_money_is_spent(tmp_path: Path) -> None:
    with writing(tmp_path, "Think.", tasks=9) as (desk, writer):
        assert "more than half of --max-cost" in desk.refused(*optimized(desk, "--max-cost", "0.0001"))
        assert desk.provider.count == 0
        found = desk.json(*optimized(desk, "--max-cost", "0.02", "--max-metric-calls", 100_000), status=1)
    assert found["cost_usd"] <= 0.02
    assert writer.reflections


def test_answers_of_a_writer_that_are_no_wording_are_counted_and_end_the_search(tmp_path: Path) -> None:
    def babbling(request: Request) -> Any:
        return "I would rather not." if request.model.endswith("writer") else judging(request)

    with Provider(babbling) as provider:
        desk = Desk(tmp_path, provider)
        desk.labelled(9)
        found = desk.json(*optimized(desk), status=1)
    assert (found["search"]["reflections"], found["search"]["refused"]) == (3, 3)
    assert found["conclusion"].startswith("no better words were found")


def test_a_split_keeps_tasks_whole_and_depends_on_the_seed_alone(tmp_path: Path) -> None:
    with JudgeClient.embedded(data_dir=tmp_path) as client:
        labels = labelled(client, refunds(12))
    found = [
        Example((each.state_digest, each.step_digest), each.task_digest, None, 1, (each,))  # type: ignore[arg-type]
        for each in labels[::2]
    ]
    parts = split(found, 3)
    tasks = [{each.task for each in part} for part in parts]
    assert sum(map(len, tasks)) == len(tasks[0] | tasks[1] | tasks[2]) == 12
    assert all(len(each) >= 2 for each in tasks)
    assert split(found[::-1], 3) == parts
    assert split(found, 4) != parts
    with pytest.raises(NoExamples, match="labels of 5 tasks: at least 6"):
        split([each for each in found if each.task in sorted({e.task for e in found})[:5]], 0)


@pytest.mark.parametrize(
    "definition", ["yes", "no: never", "# not a comment", "1.0", "‘quotes’ \"and\" 'more'\n\n two lines"]
)
def test_whatever_words_are_found_read_back_from_the_file_as_they_are(definition: str) -> None:
    words = wording(DESK.criteria[0]).model_copy(update={"definition": definition, "yes_when": ("- a", "{b}")})
    rubric: Rubric = reworded(DESK, {"allowed": words.text})
    assert f"# from\n# elsewhere\nname: {rubric.name}\n" in rubric_text(rubric, ["from\nelsewhere"])


@pytest.mark.parametrize("text", ["", "nonsense", "{}", '{"question": ""}', '{"question": "?", "unit": "call"}'])
def test_what_is_no_wording_changes_no_rubric(text: str) -> None:
    with pytest.raises(ValueError, match="no wording"):
        reworded(DESK, {"allowed": text})
