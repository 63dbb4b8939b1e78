"""The command check runs real commands, and keeps from them what is not theirs."""

import os
from pathlib import Path
from typing import Any

import pytest

from checks.checking import checked, outcome, written


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"argv": ["true"]}, "pass"),
        ({"argv": ["false"]}, "fail"),
        ({"argv": ["false"], "exit_code": 1}, "pass"),
        ({"argv": ["false"], "exit_code": [0, 1]}, "pass"),
        ({"argv": ["false"], "exit_code": None}, "pass"),
        ({"argv": ["cat", "a.txt"], "stdout": {"equals": "hello\n"}}, "pass"),
        ({"argv": ["cat", "a.txt"], "stdout": {"contains": "moon"}}, "fail"),
        ({"argv": ["cat", "absent"], "exit_code": 1, "stderr": {"contains": "No such file"}}, "pass"),
        ({"argv": ["cat"], "stdin": "given", "stdout": {"equals": "given"}}, "pass"),
        ({"argv": ["cat", "b.txt"], "cwd": "sub", "stdout": {"contains": "b"}}, "pass"),
        ({"argv": ["echo", "$HOME; echo x"], "stdout": {"equals": "$HOME; echo x\n"}}, "pass"),
        ({"argv": "echo a | tr a b", "shell": True, "stdout": {"equals": "b\n"}}, "pass"),
        ({"argv": "kill -SEGV $$", "shell": True}, "fail"),
        ({"argv": ["absent-command"]}, "error"),
        ({"argv": ["./a.txt"]}, "error"),
        ({"argv": ["true"], "cwd": "absent"}, "error"),
        ({"argv": ["true"], "cwd": "out"}, "error"),
        ({"argv": "yes | head -c 100000", "shell": True, "max_output_bytes": 1_000}, "pass"),
        (
            {"argv": "yes | head -c 9000", "shell": True, "max_output_bytes": 1_000, "stdout": {"contains": "y"}},
            "error",
        ),
    ],
)
async def test_a_command_ends_and_prints_as_it_must(tmp_path: Path, fields: dict[str, Any], expected: str) -> None:
    written(tmp_path, **{"a.txt": "hello\n", "sub/b.txt": "b"})
    (tmp_path / "out").symlink_to("/")
    result = await checked({"kind": "command", **fields}, tmp_path)
    assert result.outcome == expected, result
    assert "broke" not in result.reason


async def test_a_command_gets_only_the_variables_it_was_promised(tmp_path: Path) -> None:
    os.environ["STEPJUDGE_TEST_SECRET"] = "the-secret"
    try:
        document = {"kind": "command", "argv": ["env"], "env": {"OWN": "1"}}
        shown = (await checked(document, tmp_path)).model_dump_json()
        assert "OWN=1" in shown
        assert "the-secret" not in shown
        document["pass_env"] = ["STEPJUDGE_TEST_SECRET"]
        assert "the-secret" in (await checked(document, tmp_path)).model_dump_json()
    finally:
        del os.environ["STEPJUDGE_TEST_SECRET"]


async def test_a_command_changes_a_copy_unless_it_is_run_in_place(tmp_path: Path) -> None:
    written(tmp_path, **{"a.txt": "hello\n"})
    os.mkfifo(tmp_path / "fifo")  # which would block whoever copies it
    document = {"kind": "command", "argv": "echo changed > a.txt; mkdir -p x/y; chmod 0 x; cat a.txt", "shell": True}
    assert "changed" in (await checked(document, tmp_path)).model_dump_json()
    assert (tmp_path / "a.txt").read_text() == "hello\n"
    assert await outcome({**document, "in_place": True}, tmp_path) == "pass"
    assert (tmp_path / "a.txt").read_text() == "changed\n"


async def test_a_command_that_kills_what_guards_it_is_an_error(tmp_path: Path) -> None:
    result = await checked({"kind": "command", "argv": "kill -9 $PPID; sleep 5", "shell": True}, tmp_path)
    assert (result.outcome, result.reason) == ("error", "what guarded '/bin/sh' was killed")
