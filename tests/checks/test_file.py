"""The file check, on real files: also on those that an agent planted to lead it astray."""

import hashlib
import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from checks.checking import checked, outcome, written


@pytest.fixture
def root(tmp_path: Path) -> Path:
    outside = written(tmp_path / "outside", **{"secret.txt": "the secret"})
    root = written(tmp_path / "root", **{"a.txt": "hello\nworld\n", "sub/b.txt": "b", "big.txt": "x" * 100_000})
    for name, target in {
        "within": "a.txt",
        "sub/up": "../a.txt",
        "folder": "sub",
        "absolute": str(outside / "secret.txt"),
        "relative": "../outside/secret.txt",
        "parent": "..",
        "loop": "loop",
        "dangling": "nothing",
    }.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(root / "socket"))
    return root


SHA = hashlib.sha256(b"hello\nworld\n").hexdigest()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"path": "a.txt"}, "pass"),
        ({"path": "./sub//b.txt"}, "pass"),
        ({"path": "absent"}, "fail"),
        ({"path": "sub"}, "fail"),
        ({"path": "a.txt/b"}, "fail"),
        ({"path": "absent", "exists": False}, "pass"),
        ({"path": "a.txt", "exists": False}, "fail"),
        ({"path": "sub", "exists": False}, "fail"),
        ({"path": "a.txt", "sha256": SHA}, "pass"),
        ({"path": "a.txt", "sha256": f"sha256:{SHA}"}, "pass"),
        ({"path": "a.txt", "sha256": "0" * 64}, "fail"),
        ({"path": "a.txt", "text": {"equals": "hello\nworld\n"}}, "pass"),
        ({"path": "a.txt", "text": {"equals": "hello\nworld"}}, "fail"),
        ({"path": "a.txt", "text": {"equals": "hello\nworld", "strip": True}}, "pass"),
        ({"path": "a.txt", "text": {"contains": ["hello", "world"], "lacks": "moon"}}, "pass"),
        ({"path": "a.txt", "text": {"contains": ["hello", "moon"]}}, "fail"),
        ({"path": "a.txt", "text": {"lacks": "hello"}}, "fail"),
        ({"path": "a.txt", "text": {"matches": "^w.r"}}, "pass"),
        ({"path": "a.txt", "text": {"matches": "^o"}}, "fail"),
        ({"path": "within", "text": {"contains": "hello"}}, "pass"),
        ({"path": "sub/up", "text": {"contains": "hello"}}, "pass"),
        ({"path": "folder/b.txt"}, "pass"),
        ({"path": "folder/up", "sha256": SHA}, "pass"),
        ({"path": "dangling"}, "fail"),
        ({"path": "fifo"}, "fail"),
        ({"path": "socket"}, "fail"),
        ({"path": "absolute"}, "error"),
        ({"path": "relative", "text": {"contains": "secret"}}, "error"),
        ({"path": "parent/outside/secret.txt"}, "error"),
        ({"path": "parent/outside/secret.txt", "exists": False}, "error"),
        ({"path": "loop"}, "error"),
        ({"path": "big.txt", "max_bytes": 1_000, "text": {"contains": "x"}}, "error"),
        ({"path": "big.txt", "max_bytes": 1_000, "sha256": "0" * 64}, "fail"),
    ],
)
async def test_a_file_is_there_or_not_and_says_what_it_must(root: Path, fields: dict[str, Any], expected: str) -> None:
    assert await outcome({"kind": "file", **fields}, root) == expected


async def test_no_evidence_shows_what_lies_outside_of_the_environment(root: Path) -> None:
    for path in ("absolute", "relative", "parent/outside/secret.txt"):
        result = await checked({"kind": "file", "path": path, "text": {"contains": "x"}}, root)
        assert "the secret" not in result.model_dump_json()
        assert "leaves the environment through a symbolic link" in result.reason


async def test_a_device_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "zero").symlink_to("/dev/zero")
    assert await outcome({"kind": "file", "path": "zero", "text": {"contains": "x"}}, tmp_path) == "error"
    assert await outcome({"kind": "file", "path": "zero", "text": {"contains": "x"}}, Path("/dev")) == "fail"


async def test_a_pattern_that_never_ends_is_given_up_in_time(tmp_path: Path) -> None:
    written(tmp_path, **{"a.txt": "a" * 100 + "b"})
    document = {"kind": "file", "path": "a.txt", "text": {"matches": "(a|a)+$"}, "timeout_s": 1}
    began = time.monotonic()
    assert await outcome(document, tmp_path) == "error"
    assert time.monotonic() - began < 10


async def test_without_an_environment_a_file_check_cannot_tell(tmp_path: Path) -> None:
    assert (await checked({"kind": "file", "path": "a"})).reason == "the trial has no final environment"
    assert await outcome({"kind": "file", "path": "a"}, tmp_path / "absent") == "error"
