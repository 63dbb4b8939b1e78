"""A screen is a pseudo-terminal with the `stepjudge` command on it: a test presses keys and reads what is shown."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_STYLES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Screen:
    """What stands on the terminal, without styles, in the order it was written."""

    def __init__(self, handle: int, process: subprocess.Popen[bytes]) -> None:
        self._handle = handle
        self._process = process
        self.raw = b""
        self._read_to = 0

    def wait_for(self, text: str, *, seconds: float = 60) -> str:
        """Read until the text appears after what was read before; gives everything up to there."""
        end = time.monotonic() + seconds
        while True:
            shown = self.text[self._read_to :]
            if text in shown:
                place = shown.index(text) + len(text)
                self._read_to += place
                return shown[:place]
            if time.monotonic() > end or not self._more(end - time.monotonic()):
                raise AssertionError(f"{text!r} never appeared after:\n{shown[-3_000:]}")

    def press(self, keys: str) -> None:
        os.write(self._handle, keys.encode())

    def ended(self) -> int:
        """Wait for the end; gives the exit code."""
        while self._more(60):
            pass
        return self._process.wait(60)

    @property
    def text(self) -> str:
        return _STYLES.sub("", self.raw.decode("utf-8", "replace")).replace("\r\n", "\n")

    def _more(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._handle], [], [], max(0.0, seconds))
        if not ready:
            return False
        try:
            found = os.read(self._handle, 65_536)
        except OSError:  # the other end is closed
            return False
        self.raw += found
        return bool(found)


@contextmanager
def on_screen(data_dir: Path, *arguments: object, **variables: str) -> Generator[Screen]:
    """The command on a terminal of 200 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("STEPJUDGE_", "COLUMNS"))}
    environment = {**kept, "STEPJUDGE_DATA_DIR": str(data_dir), "TERM": "xterm-256color", **variables}
    # the terminal becomes the process's own, so that Ctrl-C reaches it as it does from a shell
    program = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from stepjudge.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Screen(ours, process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)
