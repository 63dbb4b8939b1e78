"""The shelf finds rubrics by reference and refuses folders that cannot be trusted."""

import json
from pathlib import Path

import pytest

from judge_service.errors import UnknownRubric
from judge_service.shelf import Shelf
from stepjudge.errors import BadRubric
from stepjudge.rubric_file import shipped

RUBRIC = """\
name: {name}
version: {version}
instructions: {instructions}
criteria:
  - {{name: seen, unit: step, question: 'Was it seen?'}}
scoring: {{passes: [seen]}}
"""


def put(folder: Path, version: str = "1.0.0", *, name: str = "small", instructions: str = "Judge.") -> Path:
    file = folder / name / f"{version}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(RUBRIC.format(name=name, version=version, instructions=instructions), encoding="utf-8")
    return file


def test_the_shipped_step_rubric_is_found_by_name_and_by_version() -> None:
    shelf = Shelf(shipped())
    assert shelf.find("step@1.0.0").name == "step"
    assert shelf.find("step") in shelf.all()


def test_a_name_alone_means_the_newest_version(tmp_path: Path) -> None:
    for version in ("1.10.0", "1.9.0", "0.1.0"):
        put(tmp_path, version)
    shelf = Shelf(tmp_path)
    assert shelf.find("small").version == "1.10.0"
    assert shelf.find("small@1.9.0").version == "1.9.0"
    assert [rubric.version for rubric in shelf.all()] == ["0.1.0", "1.9.0", "1.10.0"]


@pytest.mark.parametrize("reference", ["step@9.0.0", "step@1", "nope", "", "@1.0.0", "step@1.0.0@1", "STEP", "../step"])
def test_an_unknown_rubric_is_refused_with_what_there_is(tmp_path: Path, reference: str) -> None:
    put(tmp_path)
    with pytest.raises(UnknownRubric) as refused:
        Shelf(shipped(), [tmp_path]).find(reference)
    assert refused.value.status == 404
    assert str(refused.value).startswith(f"no rubric {reference!r}: there is small@1.0.0, step@1.0.0")


def test_an_empty_shelf_says_that_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(UnknownRubric, match="there is none"):
        Shelf(tmp_path).find("step")


def test_further_folders_add_names_and_versions_at_any_depth(tmp_path: Path) -> None:
    put(tmp_path / "team" / "drafts")
    put(tmp_path, "9.0.0", name="step")
    shelf = Shelf(shipped(), [tmp_path])
    assert shelf.find("small@1.0.0").instructions == "Judge."
    assert shelf.find("step").version == "9.0.0"


def test_a_published_version_in_other_words_is_refused_wherever_it_is(tmp_path: Path) -> None:
    published, further = tmp_path / "published", tmp_path / "further"
    put(published)
    digest = Shelf(published).find("small").digest
    (published / "published.json").write_text(json.dumps({"small@1.0.0": digest, "small@2.0.0": "sha256:0"}))
    assert Shelf(published).find("small").digest == digest
    edited = put(further, "2.0.0", instructions="Judge kindly.")
    with pytest.raises(BadRubric, match=rf"^{edited}:2:10: small@2\.0\.0 is published with other content"):
        Shelf(published, [further])
    edited.unlink()
    put(published, instructions="Judge kindly.")
    with pytest.raises(BadRubric, match=r"small@1\.0\.0 is published with other content"):
        Shelf(published)


def test_one_name_and_version_in_two_files_is_refused_naming_both(tmp_path: Path) -> None:
    one, other = put(tmp_path / "one"), put(tmp_path / "other")
    with pytest.raises(BadRubric) as refused:
        Shelf(tmp_path / "one", [tmp_path / "other"])
    assert str(refused.value) == (f"{other}: small@1.0.0 is also in {one}: raise the version of one")


def test_one_folder_given_twice_is_read_once(tmp_path: Path) -> None:
    put(tmp_path)
    assert len(Shelf(tmp_path, [tmp_path, tmp_path / ".." / tmp_path.name]).all()) == 1


def test_hidden_folders_and_other_files_are_left_alone(tmp_path: Path) -> None:
    put(tmp_path)
    put(tmp_path / "..2026_01_01")  # how Kubernetes mounts the very same file a second time
    (tmp_path / "README.md").write_text("not a rubric")
    (tmp_path / "folder.yaml").mkdir()
    assert len(Shelf(tmp_path).all()) == 1


def test_the_faults_of_all_files_are_told_at_once_with_file_and_line(tmp_path: Path) -> None:
    first = put(tmp_path, "1", name="a")
    second = put(tmp_path, "2", name="b")
    with pytest.raises(BadRubric) as refused:
        Shelf(tmp_path, [tmp_path / "absent"])
    mend = "write three numbers, such as 1.0.0"
    assert str(refused.value).splitlines() == [
        f"{first}:2:10: 'version' is '1': {mend}",
        f"{second}:2:10: 'version' is '2': {mend}",
        f"{tmp_path}/absent: no such folder of rubrics",
    ]


@pytest.mark.parametrize("content", ["[]", "{", '{"step@1.0.0": 1}', "\xff"])
def test_a_spoilt_list_of_published_digests_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "published.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(BadRubric, match=r"published\.json: cannot be read: it must hold"):
        Shelf(tmp_path)


def test_rubrics_are_read_once_so_later_edits_do_not_change_the_shelf(tmp_path: Path) -> None:
    put(tmp_path)
    shelf = Shelf(tmp_path)
    put(tmp_path, instructions="Judge kindly.")
    assert shelf.find("small").instructions == "Judge."
