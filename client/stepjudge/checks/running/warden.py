"""A warden runs one command and lets nothing of it live on: not a grandchild, not a daemon that left its session.

Run as a script by `process.py`, on the standard library alone: `warden.py SOCKET COMMAND…`. It kills all that the
command started when the command ends, and also when the other end of the socket is closed, however its owner died.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

PATIENCE_S = 5
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h: orphans below us become our children instead of init's


def main() -> None:
    owner = socket.socket(fileno=int(sys.argv[1]))
    owner.set_inheritable(False)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        child = subprocess.Popen(sys.argv[2:], start_new_session=True)
    except OSError as error:
        _say(owner, {"failed": f"{error.strerror}"})
        return
    _say(owner, {"pid": child.pid})
    threading.Thread(target=_end_with, args=(owner, child.pid), daemon=True).start()
    status = child.wait()
    _kill_all(child.pid)
    _say(owner, {"status": status})


def _say(owner: socket.socket, words: dict[str, int | str]) -> None:
    with contextlib.suppress(OSError):
        owner.sendall(json.dumps(words).encode() + b"\n")


def _end_with(owner: socket.socket, child: int) -> None:
    with contextlib.suppress(OSError):
        owner.recv(1)
    _kill_all(child)
    os._exit(1)


def _kill_all(child: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # all there is where /proc is not
    until = time.monotonic() + PATIENCE_S
    while (alive := _below(os.getpid())) and time.monotonic() < until:
        for pid in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


def _below(ancestor: int) -> list[int]:
    """All living processes below this one."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name, in brackets, may itself hold brackets and spaces.
            state, parent = entry.read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state not in "ZX":
                children.setdefault(int(parent), []).append(int(entry.parent.name))
    found: list[int] = []
    todo = [ancestor]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


main()
