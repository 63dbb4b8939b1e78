"""Checks are read by kind, run at once and each in its time, and leave nothing running."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from checks.checking import ROOT, checked, written
from stepjudge.checks import BadCheck, Scene, kinds, names, read_check, run_checks

SLEEPS = [
    "sleep {n}",
    "sleep {n} & sleep {n}",
    "(sleep {n} &) ; sleep {n}",
    "(setsid sleep {n} &) ; sleep {n}",
    "setsid sh -c 'setsid sleep {n} & trap \"\" TERM INT HUP; sleep {n}' & sleep {n}",
    'trap "" TERM INT HUP; sleep {n}; sleep {n}',
]

REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["kind: missing", "final-output"]),
    ({"kind": 7}, ["no check 7"]),
    ({"kind": "fil", "path": "a"}, ["no check 'fil'", "Did you mean 'file'", "Known kinds are command, "]),
    ({"kind": "file"}, ["path: Field required"]),
    ({"kind": "file", "path": "a", "pathh": "b"}, ["pathh: ", "a 'file' check has kind, name, timeout_s, path"]),
    ({"kind": "file", "path": "../a"}, ["path: '../a' is not taken"]),
    ({"kind": "file", "path": "/etc/passwd"}, ["path: '/etc/passwd' is not taken"]),
    ({"kind": "file", "path": "a", "timeout_s": 0}, ["timeout_s: "]),
    ({"kind": "file", "path": "a", "exists": False, "text": {"equals": ""}}, ["exists: "]),
    ({"kind": "file", "path": "a", "text": {}}, ["text: say what"]),
    ({"kind": "file", "path": "a", "text": {"matches": "("}}, ["text.matches: '(' is no regular expression"]),
    ({"kind": "document", "path": "a.json", "query": "a b"}, ["query: 'a b' is no JSONPath such as $.orders"]),
    ({"kind": "document", "path": "a"}, ["language: "]),
    ({"kind": "command", "argv": "ls | wc"}, ["argv: a list", "shell: true"]),
    ({"kind": "command", "argv": []}, ["argv: is empty"]),
    ({"kind": "command", "argv": ["a\0"]}, ["NUL"]),
    ({"kind": "tests", "argv": ["pytest"]}, ["{report}"]),
    ({"kind": "tests", "report": "r.xml", "patch": "p"}, ["argv: without it nothing is run"]),
    ({"kind": "sql", "query": "select 1", "count": 1}, ["give one of sqlite, url and url_env"]),
    ({"kind": "sql", "url": "sqlite:////etc/x", "query": "select 1", "count": 1}, ["url: name a SQLite file"]),
    ({"kind": "sql", "sqlite": "a.db", "query": "select 1"}, ["say what must be read"]),
    ({"kind": "http", "url": "file:///etc/passwd"}, ["is no web address"]),
    ({"kind": "git"}, ["say what must hold"]),
    ({"kind": "git", "clean": True, "base": "--output=/tmp/x"}, ["base: "]),
    ({"kind": "final-output"}, ["give either expected or reference"]),
    ({"kind": "final-output", "expected": "x", "how": "number"}, ['expected: "x" is no number']),
    ({"kind": "final-output", "expected": {"type": 3}, "how": "json_schema"}, ["expected: no JSON Schema"]),
    ({"kind": "tool-calls"}, ["say what must be called"]),
    ({"kind": "tool-calls", "expected": [{"a": {}, "b": {}}]}, ["one key, the tool's name"]),
]


def running(word: str) -> list[str]:
    """Command lines of the living processes that hold the word."""
    lines: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
            state = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        except OSError:
            continue
        if word in line and state not in "ZX":
            lines.append(line)
    return lines


def scratches() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("stepjudge-*"))


def test_every_check_of_the_plan_is_found() -> None:
    assert kinds() == (
        *("command", "directory", "document", "file", "final-output", "git", "http", "leak"),
        *("reward-file", "short-answer", "sql", "tests", "tool-calls"),
    )


@pytest.mark.parametrize(("document", "words"), REFUSED)
def test_a_check_that_is_not_well_formed_is_refused_with_field_and_remedy(
    document: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(BadCheck) as caught:
        read_check(document)
    assert [word for word in words if word not in str(caught.value)] == []


def test_heavy_packages_are_not_imported_before_a_check_needs_them() -> None:
    code = "import sys, stepjudge.checks as checks; checks.kinds(); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [name for name in ("sqlalchemy", "jsonschema", "regex", "jsonpath") if f"'{name}'" in done.stdout] == []


def test_a_check_without_a_name_gets_its_kind_and_names_do_not_repeat() -> None:
    plain = read_check({"kind": "file", "path": "a"})
    named = read_check({"kind": "file", "path": "a", "name": "file-2"})
    assert names([plain, named, plain, plain]) == ("file", "file-2", "file-3", "file-4")
    with pytest.raises(BadCheck, match="'file-2' stands at more than one check"):
        names([named, named])


async def test_checks_run_at_once_and_an_error_of_one_leaves_the_others_alone(tmp_path: Path) -> None:
    sleep: dict[str, Any] = {"kind": "command", "argv": ["sleep", "1.5"]}
    documents = [sleep, {**sleep, "timeout_s": 0.5}, sleep, {"kind": "command", "argv": ["./absent"]}]
    began = time.monotonic()
    results = await run_checks([read_check(document) for document in documents], Scene(root=tmp_path))
    assert [result.outcome for result in results] == ["pass", "error", "pass", "error"]
    assert results[1].reason == "the check was not done after 0.5 s"
    assert "could not be started: No such file" in results[3].reason
    assert time.monotonic() - began < sum(result.seconds for result in results)


async def test_equal_findings_have_equal_digests_whatever_the_time_and_the_scratch(tmp_path: Path) -> None:
    document = {"kind": "command", "argv": ["sh", "-c", "pwd; echo $HOME; ls /absent"], "exit_code": None}
    one, two = await checked(document, tmp_path), await checked(document, tmp_path)
    assert one.digest == two.digest
    assert one.evidence == two.evidence
    other = await checked({**document, "argv": ["pwd"]}, tmp_path)
    assert other.digest != one.digest


@pytest.mark.parametrize("script", SLEEPS)
async def test_nothing_runs_on_after_a_time_limit(tmp_path: Path, script: str) -> None:
    mark = f"77{os.getpid()}.{SLEEPS.index(script)}"
    before = scratches()
    document = {"kind": "command", "argv": script.format(n=mark), "shell": True, "timeout_s": 1}
    assert (await checked(document, tmp_path)).outcome == "error"
    assert running(mark) == []
    assert scratches() <= before


async def test_nothing_runs_on_after_a_command_that_ended_by_itself(tmp_path: Path) -> None:
    mark = f"78{os.getpid()}"
    document = {"kind": "command", "argv": f"(setsid sleep {mark} &); nohup sleep {mark} & echo done", "shell": True}
    assert (await checked(document, tmp_path)).outcome == "pass"
    assert running(mark) == []


async def test_nothing_runs_on_when_the_run_is_cancelled(tmp_path: Path) -> None:
    mark = f"79{os.getpid()}"
    check = read_check({"kind": "command", "argv": f"(setsid sleep {mark} &); sleep {mark}", "shell": True})
    with anyio.move_on_after(1):
        await run_checks([check, check], Scene(root=tmp_path))
    assert running(mark) == []


def test_nothing_runs_on_when_whoever_runs_the_checks_is_killed(tmp_path: Path) -> None:
    mark = f"80{os.getpid()}"
    code = (
        "import anyio, sys, pathlib\n"
        "from stepjudge.checks import *\n"
        f"check = read_check({{'kind': 'command', 'argv': '(setsid sleep {mark} &); sleep {mark}', 'shell': True}})\n"
        "anyio.run(run_checks, [check], Scene(root=pathlib.Path(sys.argv[1])))\n"
    )
    root = written(tmp_path / "root", **{"a.txt": ""})
    (tmp_path / "tmp").mkdir()
    env = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}  # what the killed owner cannot clear away goes there
    with subprocess.Popen([sys.executable, "-c", code, root], env=env) as owner:
        while len(running(f"sleep {mark}")) < 4:  # the owner, the shell and both sleeps
            assert owner.poll() is None
            time.sleep(0.05)
        owner.send_signal(signal.SIGKILL)
    until = time.monotonic() + 10
    while running(f"sleep {mark}") and time.monotonic() < until:
        time.sleep(0.05)
    assert running(f"sleep {mark}") == []


async def test_an_environment_around_the_temporary_files_is_not_copied_into_itself() -> None:
    result = await checked({"kind": "command", "argv": ["true"]}, Path("/"))
    assert result.outcome == "error"
    assert "holds the folder for temporary files" in result.reason


async def test_evidence_shows_every_character_and_its_head_and_tail(tmp_path: Path) -> None:
    written(tmp_path, **{"a.txt": "head\x1b[2J\u202e" + "x" * 10_000 + "tail"})
    (evidence,) = (await checked({"kind": "file", "path": "a.txt", "text": {"contains": "head"}}, tmp_path)).evidence
    assert evidence.text.startswith("head⟨U+001B⟩[2J⟨U+202E⟩x")
    assert evidence.text.endswith("xtail")
    assert "characters left out" in evidence.text


def test_a_check_is_added_by_one_file(tmp_path: Path) -> None:
    """The example in docs/checks.md is a module, and works as it stands there."""
    text = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    (example,) = [block.partition("```")[0] for block in text.split("```python\n") if "class Lines(Check)" in block]
    (tmp_path / "lines.py").write_text(example, encoding="utf-8")
    (tmp_path / "a.txt").write_text("1\n2\n3\n")
    code = (
        "import anyio, sys, pathlib\n"
        "import stepjudge.checks as checks\n"
        "checks.__path__.append(sys.argv[1])\n"
        "check = checks.read_check({'kind': 'lines', 'path': 'a.txt', 'most': 2})\n"
        "print(anyio.run(checks.run_checks, [check], checks.Scene(root=pathlib.Path(sys.argv[1])))[0].reason)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("'a.txt' has 3 lines, where 2 are the most\n", "")
