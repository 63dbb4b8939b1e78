"""The directory check, on real folders."""

import os
import re
from pathlib import Path

from checks.checking import checked, outcome, written

FILES = {"a.txt": "a", "sub/b.txt": "b"}


async def test_a_folder_equals_the_suites_folder_or_the_entries_that_differ_are_told(tmp_path: Path) -> None:
    suite = written(tmp_path / "suite", **{f"expected/{name}": text for name, text in FILES.items()})
    root = written(tmp_path / "root", **{f"out/{name}": text for name, text in FILES.items()})
    document = {"kind": "directory", "path": "out", "same_as": "expected"}
    assert await outcome(document, root, folder=suite) == "pass"
    written(root, **{"out/sub/b.txt": "changed", "out/new.txt": "", "out/cache/x.pyc": ""})
    (root / "out" / "a.txt").unlink()
    result = await checked({**document, "ignore": ["cache", "*.pyc"]}, root, folder=suite)
    assert result.outcome == "fail"
    assert result.evidence[0].text == "missing: a.txt\ndifferent: sub/b.txt\nunexpected: new.txt"


async def test_more_than_expected_may_be_allowed(tmp_path: Path) -> None:
    suite = written(tmp_path / "suite", **{f"expected/{name}": text for name, text in FILES.items()})
    root = written(tmp_path / "root", **FILES, **{"more.txt": ""})
    document = {"kind": "directory", "same_as": "expected"}
    assert await outcome(document, root, folder=suite) == "fail"
    assert await outcome({**document, "more": True}, root, folder=suite) == "pass"


async def test_a_folder_has_a_digest_of_names_contents_and_link_targets(tmp_path: Path) -> None:
    written(tmp_path, **FILES)
    (tmp_path / "link").symlink_to("/etc/passwd")
    told = (await checked({"kind": "directory", "digest": f"sha256:{'0' * 64}"}, tmp_path)).reason
    digest = re.search("sha256:[0-9a-f]{64}", told)
    assert digest is not None
    document = {"kind": "directory", "digest": digest[0]}
    assert await outcome(document, tmp_path) == "pass"
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("/etc/group")
    assert await outcome(document, tmp_path) == "fail"


async def test_special_files_and_links_to_folders_outside_are_not_entered(tmp_path: Path) -> None:
    suite = written(tmp_path / "suite", **{"expected/a.txt": "a"})
    root = written(tmp_path / "root", **{"a.txt": "a"})
    os.mkfifo(root / "fifo")
    (root / "out").symlink_to("/")
    result = await checked({"kind": "directory", "same_as": "expected"}, root, folder=suite)
    assert result.evidence[0].text == "unexpected: fifo\nunexpected: out"


async def test_what_is_no_folder_fails_and_a_suite_without_a_folder_is_an_error(tmp_path: Path) -> None:
    written(tmp_path, **FILES)
    assert await outcome({"kind": "directory", "path": "a.txt", "same_as": "x"}, tmp_path, folder=tmp_path) == "fail"
    assert await outcome({"kind": "directory", "same_as": "x"}, tmp_path) == "error"
