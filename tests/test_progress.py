"""Progress bars on a real terminal show a trace's id as text."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path


def test_the_id_of_a_hostile_trace_neither_breaks_nor_drives_the_terminal(tmp_path: Path) -> None:
    trace = {
        "trace_id": "a [/nope] \x1b]0;owned\x07",
        "steps": [{"index": 1, "turn": 1, "llm_call": 1, "message": "Hi"}],
    }
    (tmp_path / "trace.json").write_text(json.dumps(trace))
    program = "from stepjudge.cli.main import main; main()"
    arguments = [
        sys.executable,
        "-c",
        program,
        "score",
        str(tmp_path / "trace.json"),
        "--data-dir",
        str(tmp_path / "d"),
    ]
    master, slave = pty.openpty()
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=slave, text=True, check=False)
    os.close(slave)
    shown = os.read(master, 65_536).decode()
    os.close(master)

    assert done.returncode == 0, shown
    assert "step-level score" in done.stdout
    assert "scoring a [/nope]" in shown
    assert "\x1b]0;" not in shown
