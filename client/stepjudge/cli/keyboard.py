"""The keyboard gives one key at a time, without Enter, and loses none that is pressed ahead."""

import os
import select
import sys
from collections.abc import Generator
from contextlib import contextmanager

import click

END = ""
"""What `Keyboard.key` gives when no more keys can come."""
ESCAPE = "\x1b"
"""What it gives for Escape, arrows and the like."""


class Keyboard:
    """Keys of the terminal that standard input is. Ctrl-C is KeyboardInterrupt, as everywhere."""

    def key(self) -> str:
        """The next key, in lower case."""
        if sys.platform == "win32":
            return click.getchar().lower()
        handle = sys.stdin.fileno()
        first = os.read(handle, 1)
        if first in (b"", b"\x03", b"\x04"):
            return END
        if first == b"\x1b":
            while select.select([handle], [], [], 0.02)[0] and os.read(handle, 1):
                pass
            return ESCAPE
        more = _more_bytes(first[0])
        return (first + b"".join(os.read(handle, 1) for _ in range(more))).decode("utf-8", "replace").lower()

    @contextmanager
    def open(self) -> Generator[None]:
        """Keys come as they are pressed; outside, whole lines do, as before."""
        if sys.platform == "win32":
            yield
            return
        import termios
        import tty

        handle = sys.stdin.fileno()
        before = termios.tcgetattr(handle)
        # TCSADRAIN, because TCSAFLUSH would throw away what is typed ahead
        tty.setcbreak(handle, termios.TCSADRAIN)
        try:
            yield
        finally:
            termios.tcsetattr(handle, termios.TCSADRAIN, before)

    @contextmanager
    def closed(self) -> Generator[None]:
        """Whole lines for a while, within `open`."""
        if sys.platform == "win32":
            yield
            return
        import termios
        import tty

        handle = sys.stdin.fileno()
        now = termios.tcgetattr(handle)
        lines = termios.tcgetattr(handle)
        lines[tty.LFLAG] |= termios.ECHO | termios.ICANON
        termios.tcsetattr(handle, termios.TCSADRAIN, lines)
        try:
            yield
        finally:
            termios.tcsetattr(handle, termios.TCSADRAIN, now)


def _more_bytes(first: int) -> int:
    """How many bytes of a UTF-8 character follow its first one."""
    return 3 if first >= 0xF0 else 2 if first >= 0xE0 else 1 if first >= 0xC0 else 0
