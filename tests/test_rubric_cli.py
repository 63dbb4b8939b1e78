"""What a user of `stepjudge rubric` sees."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stepjudge.cli.rubric import rubric
from stepjudge.rubric_file import read_rubric_file, shipped

STEP = shipped() / "step" / "1.0.0.yaml"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(rubric, [str(argument) for argument in arguments])


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    """The shipped rubric as its tuner edits it: a new version, one question and one edge case changed."""
    text = STEP.read_text(encoding="utf-8").replace("version: 1.0.0", "version: 1.1.0")
    text = text.replace("question: Does this step correct an open setback?", "question: Does it [really] correct one?")
    file = tmp_path / "mine" / "draft.yaml"
    file.parent.mkdir()
    file.write_text(text.replace("      - A needed change that succeeds in silence is useful.\n", ""), encoding="utf-8")
    return file


def test_list_names_every_shipped_rubric_with_its_digest() -> None:
    result = run("list")
    assert result.exit_code == 0
    assert "step@1.0.0" in result.stdout.splitlines()
    assert read_rubric_file(STEP).digest in result.stdout


def test_list_as_json_is_one_document_and_a_folder_adds_to_it(draft: Path) -> None:
    entries = json.loads(run("list", "--json", "--folder", draft.parent).stdout)
    entries = [entry for entry in entries if entry["name"] == "step"]
    assert [entry["reference"] for entry in entries] == ["step@1.0.0", "step@1.1.0"]
    assert entries[0]["digest"] == read_rubric_file(STEP).digest
    assert entries[0]["criteria"] == ["valid", "arguments", "relevant", "useful", "recovery"]


def test_show_prints_every_word_that_the_judge_is_told() -> None:
    shown = run("show", "step").stdout
    step = read_rubric_file(STEP)
    told = [step.instructions, *(criterion.question for criterion in step.criteria)]
    told += [text for c in step.criteria for text in (*c.yes_when, *c.no_when, *c.not_applicable_when, *c.edge_cases)]
    told += [example.given for criterion in step.criteria for example in criterion.examples]
    assert [text for text in told if text not in shown] == []
    assert step.digest in shown


def test_show_takes_a_file_and_prints_brackets_as_they_are(draft: Path) -> None:
    assert "Does it [really] correct one?" in run("show", draft).stdout


def test_show_as_json_carries_the_whole_rubric_and_its_digest() -> None:
    document = json.loads(run("show", "step@1.0.0", "--json").stdout)
    step = read_rubric_file(STEP)
    assert document == {
        "reference": "step@1.0.0",
        "name": "step",
        "version": "1.0.0",
        "digest": step.digest,
        "rubric": step.model_dump(mode="json"),
    }


def test_validate_prints_what_a_good_file_is(draft: Path) -> None:
    result = run("validate", draft)
    digest = read_rubric_file(draft).digest
    assert (result.exit_code, result.stdout) == (0, f"{draft}: step@1.1.0 {digest}, 5 criteria\n")


def test_validate_tells_all_faults_of_all_files_on_stderr_and_fails(draft: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("name: bad\nversion: 1\nquestions: []\n")
    edited = tmp_path / "edited.yaml"
    edited.write_text(draft.read_text(encoding="utf-8").replace("version: 1.1.0", "version: 1.0.0"), encoding="utf-8")
    result = run("validate", bad, draft, edited, tmp_path / "absent.yaml")
    assert result.exit_code == 1
    assert [line.split(": ", 1)[0] for line in result.stderr.splitlines()] == [
        f"{bad}:1:1",
        f"{bad}:1:1",
        f"{bad}:1:1",
        f"{bad}:2:10",
        f"{bad}:3:1",
        f"{edited}:3:10",
        f"{tmp_path}/absent.yaml",
    ]
    assert "step@1.0.0 is published with other content and never changes: raise the version" in result.stderr
    assert result.stdout.startswith(f"{draft}: step@1.1.0 ")
    assert len(result.stdout.splitlines()) == 1


def test_validate_as_json_holds_the_faults_and_still_fails(draft: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("- name")
    result = run("validate", "--json", draft, bad)
    good, spoilt = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (good["valid"], good["reference"], good["faults"]) == (True, "step@1.1.0", [])
    assert spoilt["faults"] == [f"{bad}:1:1: the file is no mapping: start with 'name: …' at the margin"]
    assert result.stderr.splitlines() == spoilt["faults"]


def test_diff_shows_both_texts_of_what_changed_and_nothing_else(draft: Path) -> None:
    lines = run("diff", "step", draft).stdout.splitlines()
    assert [line for line in lines if line.startswith(("- ", "+ ")) or line.endswith(": changed")] == [
        "version: changed",
        "- 1.0.0",
        "+ 1.1.0",
        "edge_cases of useful: changed",
        "- A needed change that succeeds in silence is useful.",
        "question of recovery: changed",
        "- Does this step correct an open setback?",
        "+ Does it [really] correct one?",
    ]


def test_diff_of_a_removed_and_an_added_criterion_shows_them_field_by_field(tmp_path: Path) -> None:
    text = "name: s\nversion: 1.0.0\ninstructions: J\nscoring: {{passes: [{0}]}}\ncriteria:\n  - {{name: {0}, unit: step, question: q}}\n"
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text(text.format("seen"))
    other.write_text(text.format("done"))
    shown = run("diff", one, other).stdout
    assert "seen: removed\n- name: seen\n- unit: step\n- question: q\n" in shown
    assert "done: added\n+ name: done\n+ unit: step\n+ question: q\n" in shown


def test_diff_as_json_is_one_document(draft: Path) -> None:
    document = json.loads(run("diff", "step", draft, "--json").stdout)
    assert [document[side]["reference"] for side in "ab"] == ["step@1.0.0", "step@1.1.0"]
    assert [(change["criterion"], change["field"]) for change in document["changes"]] == [
        (None, "version"),
        ("useful", "edge_cases"),
        ("recovery", "question"),
    ]


def test_diff_of_a_rubric_with_itself_says_so() -> None:
    assert run("diff", "step", STEP).stdout.splitlines()[-1] == "no difference"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "nope"), "no rubric 'nope': there is step@1.0.0"),
        (("show", "step@7.0.0", "--json"), "no rubric 'step@7.0.0': there is step@1.0.0"),
        (("diff", "step", "absent.yaml"), "absent.yaml: cannot be read: No such file or directory"),
        (("list", "--folder", "absent"), "absent: no such folder of rubrics"),
    ],
)
def test_what_cannot_be_found_is_told_on_stderr_and_stdout_stays_empty(
    arguments: tuple[str, ...], message: str
) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr
