"""A replica is the service as operators run it: a process of its own, told by environment and stopped by signals."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

_START_S = 90.0
_LISTENS = re.compile(r"running on http://[^ ]*?:(\d+)")


class Replica:
    """Use it as a context manager. Settings go by the names of their variables, without the prefix."""

    def __init__(
        self,
        data_dir: Path,
        settings: Mapping[str, object] | None = None,
        *,
        preload: dict[str, str] | None = None,
        **more: object,
    ) -> None:
        self._data_dir = data_dir
        self._port = 0
        self._env = {f"STEPJUDGE_{name.upper()}": str(value) for name, value in {**(settings or {}), **more}.items()}
        self._preload = preload or {}
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed where the block ends
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self._log.close()
            raise
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
        self.wait()
        self._log.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """What it wrote to standard error so far."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def start(self) -> None:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("STEPJUDGE_")}
        own = {"STEPJUDGE_DATA_DIR": str(self._data_dir), "STEPJUDGE_PORT": str(self._port)}
        env = {**inherited, **own, **self._env, **self._preload}
        command = [sys.executable, "-m", "judge_service"]
        self._process = subprocess.Popen(command, env=env, stdout=self._log, stderr=self._log, cwd=self._data_dir)
        deadline = time.monotonic() + _START_S
        while not (found := _LISTENS.search(self.log)):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(self.log)
            time.sleep(0.05)
        self._port = int(found[1])

    def tell(self, what: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(what)

    def wait(self, timeout_s: float = 60.0) -> int:
        """Its exit status; TimeoutExpired when it goes on."""
        assert self._process is not None
        return self._process.wait(timeout_s)
