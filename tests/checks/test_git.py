"""The git check, on real repositories: also on one that configures every way to run a program."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from checks.checking import checked, outcome, written

PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+changed\n"


def git(folder: Path, *argv: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *identity, *argv], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = written(tmp_path / "root", **{"a.txt": "a\n", "src/b.txt": "b\n", ".gitignore": "*.log\n"})
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


@pytest.mark.parametrize(
    ("change", "fields", "expected"),
    [
        ({}, {"clean": True}, "pass"),
        ({"x.log": "ignored"}, {"clean": True}, "pass"),
        ({"a.txt": "other\n"}, {"clean": True}, "fail"),
        ({"new.txt": ""}, {"clean": True}, "fail"),
        ({"src/b.txt": "other\n", "src/deep/new.txt": ""}, {"touches": ["src/*"]}, "pass"),
        ({"src/b.txt": "other\n", "a.txt": "other\n"}, {"touches": ["src/*"]}, "fail"),
        ({"src/b.txt": "other\n", "new.txt": ""}, {"touches": ["src/*"]}, "fail"),
        ({}, {"touches": []}, "pass"),
        ({}, {"applies": "a.patch"}, "pass"),
        ({"a.txt": "other\n"}, {"applies": "a.patch"}, "fail"),
        ({}, {"applied": "a.patch"}, "fail"),
        ({"a.txt": "changed\n"}, {"applied": "a.patch"}, "pass"),
        ({}, {"clean": True, "base": "absent"}, "error"),
        ({}, {"applies": "absent.patch"}, "error"),
    ],
)
async def test_a_repository_is_as_it_must_be(
    root: Path, tmp_path: Path, change: dict[str, str], fields: dict[str, Any], expected: str
) -> None:
    suite = written(tmp_path / "suite", **{"a.patch": PATCH})
    written(root, **change)
    result = await checked({"kind": "git", **fields}, root, folder=suite)
    assert result.outcome == expected, result


async def test_committed_changes_count_from_the_named_base(root: Path) -> None:
    base = git(root, "rev-parse", "HEAD").strip()
    (root / "src" / "b.txt").unlink()
    git(root, "commit", "-qam", "second")
    assert await outcome({"kind": "git", "clean": True}, root) == "pass"
    assert await outcome({"kind": "git", "clean": True, "base": base}, root) == "fail"
    assert await outcome({"kind": "git", "touches": ["src/*"], "base": base}, root) == "pass"
    git(root, "pack-refs", "--all")
    git(root, "gc", "-q")
    assert await outcome({"kind": "git", "touches": ["src/*"], "base": "main~1"}, root) == "pass"


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
async def test_flags_of_the_index_and_private_excludes_hide_nothing(root: Path, flag: str) -> None:
    git(root, "update-index", flag, "a.txt")
    written(root, **{"a.txt": "x\n", "hidden.txt": "", ".git/info/exclude": "hidden.txt\n"})
    assert git(root, "status", "--porcelain") == ""
    (evidence,) = (await checked({"kind": "git", "clean": True}, root)).evidence
    assert evidence.text == "a.txt\nhidden.txt"


async def test_nothing_that_the_repository_configures_is_run(root: Path, tmp_path: Path) -> None:
    suite = written(tmp_path / "suite", **{"a.patch": PATCH})
    mark = tmp_path / "ran"
    script = root / "run.sh"
    script.write_text(f"#!/bin/sh\necho $0 $@ >> {mark}\ncat\n")
    script.chmod(0o755)
    written(root, **{".gitattributes": "*.txt filter=evil diff=evil merge=evil\n"})
    hooks = ("post-checkout", "post-index-change", "pre-commit", "reference-transaction", "fsmonitor-watchman")
    for hook in hooks:
        (root / ".git" / "hooks" / hook).write_text(script.read_text())
        (root / ".git" / "hooks" / hook).chmod(0o755)
    written(root / ".git", **{"included": f"[core]\n\tfsmonitor = {script}\n"})
    for name, value in {
        "core.fsmonitor": str(script),
        "core.hooksPath": str(root / ".git" / "hooks"),
        "core.pager": str(script),
        "core.editor": str(script),
        "core.sshCommand": str(script),
        "core.gitProxy": str(script),
        "diff.external": str(script),
        "diff.evil.command": str(script),
        "diff.evil.textconv": str(script),
        "filter.evil.clean": str(script),
        "filter.evil.smudge": str(script),
        "filter.evil.process": str(script),
        "filter.evil.required": "true",
        "interactive.diffFilter": str(script),
        "pager.diff": str(script),
        "include.path": "included",
        "remote.origin.url": f"ext::{script}",
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "alias.diff": f"!{script}",
    }.items():
        git(root, "config", name, value)
    written(root, **{"a.txt": "x\n", "src/b.txt": "y\n"})
    document = {"kind": "git", "clean": True, "touches": ["*"], "applies": "a.patch", "applied": "a.patch"}
    assert await outcome(document, root, folder=suite) == "fail"
    assert not mark.exists(), mark.read_text()
    assert walks_into(root, mark)


def walks_into(root: Path, mark: Path) -> bool:
    """Whether plain git runs what the repository configures: otherwise the trap would prove nothing."""
    subprocess.run(["git", "status"], cwd=root, capture_output=True, check=False)
    return mark.exists()


async def test_a_repository_that_is_elsewhere_or_borrows_is_an_error(root: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other", **{"a.txt": ""})
    assert await outcome({"kind": "git", "clean": True}, other) == "error"
    (other / ".git").symlink_to(root / ".git")
    assert await outcome({"kind": "git", "clean": True}, other) == "error"
    (other / ".git").unlink()
    written(other, **{".git": f"gitdir: {root / '.git'}\n"})
    assert await outcome({"kind": "git", "clean": True}, other) == "error"
    git(tmp_path, "clone", "-q", "--shared", str(root), "borrowing")
    assert await outcome({"kind": "git", "clean": True}, tmp_path / "borrowing") == "error"


async def test_a_repository_is_not_changed_by_looking(root: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    written(root, **{"new.txt": ""})
    await checked({"kind": "git", "clean": True, "touches": ["x"]}, root)
    after = {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.name != "new.txt"}
    assert after == before


async def seen(root: Path, **fields: Any) -> str:
    """What the check says was changed, a path a line."""
    result = await checked({"kind": "git", "clean": True, **fields}, root)
    assert result.outcome in ("pass", "fail"), result
    return result.evidence[0].text


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"evil/.gitignore": "*\n", "evil/x.py": ""}, "evil/.gitignore\nevil/x.py"),
        ({".gitignore": "*\n", "x.py": ""}, ".gitignore\nx.py"),
        ({"kept/.gitattributes": "* text\n", "kept/c.txt": "c\r\n"}, "kept/.gitattributes"),
        ({"build/deep/x": "", ":x.log": "", "*.log": ""}, ""),
        ({":x.py": "", "src/build": ""}, ":x.py\nsrc/build"),
        ({b"\xff.py".decode(errors="surrogateescape"): ""}, "�.py"),
    ],
)
async def test_only_ignore_files_of_the_base_hide_paths(root: Path, change: dict[str, str], expected: str) -> None:
    written(root, **{".gitignore": "*.log\nbuild/\nkept/\n", "kept/c.txt": "c\n"})
    git(root, "add", "-f", ".")
    git(root, "commit", "-qm", "second")
    written(root, **change)
    assert await seen(root) == expected


@pytest.mark.parametrize("setting", ["core.filemode=false", "core.autocrlf=true", "core.symlinks=false"])
async def test_settings_of_the_repository_hide_no_change(root: Path, setting: str) -> None:
    (root / "link").symlink_to("a.txt")
    git(root, "add", ".")
    git(root, "commit", "-qm", "second")
    git(root, "config", *setting.split("="))
    (root / "a.txt").chmod(0o755)
    (root / "link").unlink()
    written(root, **{"link": "a.txt", "src/b.txt": "b\r\n"})
    assert await seen(root) == "a.txt\nlink\nsrc/b.txt"
