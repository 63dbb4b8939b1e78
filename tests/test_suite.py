"""A suite either reads as its author meant it, or is refused with every fault at its file and line."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepjudge.suite_file import BadSuite, read_suite

from suites import task, write_suite

ONE = """\
name: small
version: 1.0
views:
  both:
    reducer: mean
    signals: [{source: checks}, {source: score.step_level}]
tasks:
  - id: pump
    inputs: {instruction: Mend it., tries: 3, share: 0.5, code: "007", said: no, none: ~, on: true}
    reference: {answer: 42}
    checks:
      - {name: right, kind: final-output, how: number, reference: $.answer}
    views:
      own:
        reducer: weighted_mean
        signals: [{source: check.right, weight: 2}]
    success: own
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_free_values_are_json_and_all_others_are_what_their_field_says(tmp_path: Path) -> None:
    suite = read_suite(write(tmp_path, ONE))
    inputs = {
        "instruction": "Mend it.",
        "tries": 3,
        "share": 0.5,
        "code": "007",
        "said": "no",
        "none": None,
        "on": True,
    }

    assert suite.version == "1.0"
    assert suite.tasks[0].inputs == inputs
    assert suite.tasks[0].reference == {"answer": 42}
    assert suite.tasks[0].views["own"].signals[0].weight == 2


def test_a_folder_is_the_same_suite_as_one_file(tmp_path: Path) -> None:
    folder = write_suite(tmp_path / "folder", task("a"), task("b"))
    whole = {"name": "small", "version": "1", "tasks": [task("a"), task("b")]}

    assert read_suite(folder).digest == read_suite(write(tmp_path, json.dumps(whole))).digest


def test_every_task_has_the_views_of_the_suite_and_its_own_hold(tmp_path: Path) -> None:
    shared = {"v": {"reducer": "mean", "signals": [{"source": "checks"}]}}
    own = {"v": {"reducer": "min", "signals": [{"source": "checks"}]}}
    suite = read_suite(write_suite(tmp_path, task("a"), task("b", views=own), views=shared))

    assert {name: each.views["v"].reducer for name, each in suite.by_id.items()} == {"a": "mean", "b": "min"}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("name: small", "nmae: small", "suite.yaml:1:1: unknown key 'nmae': did you mean 'name'?"),
        ("reducer: mean\n", "reducer: avg\n", "suite.yaml:5:14: 'reducer' is 'avg': write 'single', 'mean'"),
        ("- id: pump", "- id: ../pump", "suite.yaml:8:9: 'id' is '../pump': write letters"),
        ("    success: own", "    success: other", "suite.yaml:17:14: 'success' names no view: 'other'; the views are"),
        ("{source: check.right, weight: 2}", "{source: check.left}", "view 'own' reads 'check.left', which does not"),
        ("kind: final-output", "kind: final-ouput", "suite.yaml:12:9: kind: there is no check 'final-ouput'"),
        ("source: checks", "source: cheks", "suite.yaml:6:24: 'source': no source 'cheks'"),
        ("    reference: {answer: 42}", "    reference: 42", "suite.yaml:10:16: 'reference' is"),
        ("  both:", "\tboth:", "suite.yaml:4:1: found character '\\t'"),
    ],
)
def test_a_fault_is_told_with_its_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert ONE.count(old) >= 1
    with pytest.raises(BadSuite) as raised:
        read_suite(write(tmp_path, ONE.replace(old, new, 1)))
    assert told in str(raised.value)


def test_all_faults_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    write_suite(tmp_path, task("a", rubrik="step"), task("b", checks=[{"kind": "nothing"}]))
    (tmp_path / "tasks" / "c.yaml").write_text("id: c\n  x: [", encoding="utf-8")
    with pytest.raises(BadSuite) as raised:
        read_suite(tmp_path)
    told = str(raised.value)

    assert "a.yaml:1:" in told
    assert "b.yaml:1:" in told
    assert "c.yaml:2:" in told


def test_two_tasks_of_one_id_are_refused(tmp_path: Path) -> None:
    write_suite(tmp_path, task("a"))
    (tmp_path / "tasks" / "b.yaml").write_text(json.dumps(task("a")), encoding="utf-8")
    with pytest.raises(BadSuite, match=r"b\.yaml:1:8: task 'a' stands twice, first at .*a\.yaml:1"):
        read_suite(tmp_path)


def test_two_checks_of_one_name_are_refused(tmp_path: Path) -> None:
    check = {"name": "right", "kind": "final-output", "expected": "42"}
    with pytest.raises(BadSuite, match="'right' stands twice"):
        read_suite(write_suite(tmp_path, task(checks=[check, check])))


def test_a_suite_without_a_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSuite, match="the suite has no task"):
        read_suite(write_suite(tmp_path))
    with pytest.raises(BadSuite, match=r"has no suite\.yaml"):
        read_suite(tmp_path / "tasks")
    with pytest.raises(BadSuite, match="cannot be read: No such file"):
        read_suite(tmp_path / "nowhere.yaml")


def test_a_task_file_that_would_wait_for_ever_is_refused(tmp_path: Path) -> None:
    write_suite(tmp_path, task())
    os.mkfifo(tmp_path / "tasks" / "pipe.yaml")
    with pytest.raises(BadSuite, match=r"pipe\.yaml:1:1: is no regular file"):
        read_suite(tmp_path)


@given(st.text(max_size=80) | st.sampled_from([ONE[:cut] for cut in range(0, len(ONE), 7)]))
def test_any_text_is_a_suite_or_is_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("suite") / "suite.yaml"
    path.write_bytes(text.encode(errors="surrogatepass"))
    told = f"{path}:"
    try:
        read_suite(path)
    except BadSuite as error:
        told = str(error)
    assert told.startswith(f"{path}:")


def test_the_digest_follows_the_content() -> None:
    suite = read_suite(Path("examples/suite"))
    changed = suite.model_copy(update={"version": "9"})

    assert list(suite.by_id) == ["museum-architect", "museum-year", "pytest-5262"]
    assert changed.digest != suite.digest
