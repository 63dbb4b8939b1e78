"""A process of a check: a command that ends in time, says no more than its limit, and leaves nothing running."""

import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from stepjudge.checks.check import CannotCheck

WARDEN = Path(__file__).with_name("warden.py")
PATIENCE_S = 10
"""How long a warden may take to end what it guards. It needs milliseconds, unless it was stopped."""
TAIL = 4_096

PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH")
"""Variables that every command gets. No other one is handed to it unless the check names it: keys stay here."""


class Unguarded(CannotCheck):
    """What guarded a command was killed: by the command, or by the machine."""


@dataclass
class Output:
    """What a stream carried: its head up to the limit, and how it ended when there was more."""

    limit: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytes = b""
    cut: bool = False

    @property
    def text(self) -> str:
        return self.head.decode("utf-8", "replace")

    @property
    def end(self) -> str:
        """The last few thousand characters."""
        return (self.tail if self.cut else bytes(self.head[-TAIL:])).decode("utf-8", "replace")

    def take(self, chunk: bytes) -> None:
        room = self.limit - len(self.head)
        self.head += chunk[:room]
        self.cut = self.cut or len(chunk) > room
        self.tail = (self.tail + chunk)[-TAIL:]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    """The exit code; negative when a signal ended it."""
    stdout: Output
    stderr: Output

    @property
    def how(self) -> str:
        if self.status >= 0:
            return f"exit code {self.status}"
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-self.status).name}"
        return f"signal {-self.status}"


def environment(home: Path, own: Mapping[str, str], passed: Sequence[str] = ()) -> dict[str, str]:
    """The variables of a command: its own, those it was promised, and a home that is not ours."""
    known = {name: os.environ[name] for name in (*PASSED_ON, *passed) if name in os.environ}
    return {**known, "HOME": str(home), "TMPDIR": str(home), **own}


async def run_process(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes = b"", limit: int = 2**20
) -> Ended:
    """How the command ended. Raises CannotCheck when it could not be started."""
    ours, theirs = socket.socketpair()
    process = None
    try:
        with theirs:
            process = await anyio.open_process(
                [sys.executable, "-I", "-S", str(WARDEN), str(theirs.fileno()), *argv],
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd=cwd,
                env=env,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        said: dict[str, int | str] = {}
        stdout, stderr = await _exchange(process, stdin, limit, ours, said)
        return Ended(_status(said, argv[0]), stdout, stderr)
    finally:
        ours.close()  # the warden takes this as the order to end
        if process is not None:
            await _ended(process)


async def _exchange(
    process: Process, stdin: bytes, limit: int, warden: socket.socket, said: dict[str, int | str]
) -> tuple[Output, Output]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    stdout, stderr = Output(limit), Output(limit)
    async with anyio.create_task_group() as group:
        group.start_soon(_feed, process.stdin, stdin)
        group.start_soon(_drain, process.stdout, stdout)
        group.start_soon(_drain, process.stderr, stderr)
        group.start_soon(_watch, process, warden, said)
    return stdout, stderr


async def _watch(process: Process, warden: socket.socket, said: dict[str, int | str]) -> None:
    """Takes the last words of the warden. A command that outlives it would hold its streams open until time is out."""
    await process.wait()
    with warden.makefile("rb") as lines:
        for line in lines:
            said |= json.loads(line)
    if "status" not in said and "pid" in said:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(int(said["pid"]), signal.SIGKILL)


async def _feed(stream: ByteSendStream, text: bytes) -> None:
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, BrokenPipeError, ConnectionError):
        if text:
            await stream.send(text)
    with contextlib.suppress(BrokenPipeError, ConnectionError):
        await stream.aclose()


async def _drain(stream: ByteReceiveStream, output: Output) -> None:
    async for chunk in stream:
        output.take(chunk)


async def _ended(process: Process) -> None:
    with anyio.CancelScope(shield=True):
        with anyio.move_on_after(PATIENCE_S):
            await process.wait()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        await process.aclose()


def _status(said: Mapping[str, int | str], command: str) -> int:
    if "failed" in said:
        raise CannotCheck(f"{command!r} could not be started: {said['failed']}")
    if "status" not in said:
        raise Unguarded(f"what guarded {command!r} was killed")
    return int(said["status"])
