# pyright: basic
"""A llama is a real llama.cpp server in this process, on a free loopback port, with a tiny model or one of yours."""

import socket
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tiny_gguf import write_tiny_gguf


@contextmanager
def llama_server(
    model: Path | None = None, *, api_key: str | None = None, ctx: int = 65_536, parallel: int = 4
) -> Generator[str]:
    """Yields the base URL, ending in /v1. `ctx` tokens are shared evenly by `parallel` requests; a token is a byte."""
    xllamacpp: Any = import_module("xllamacpp")  # compiled and without stubs; 0.1 s, so only for those who ask

    with TemporaryDirectory() as folder:
        if model is None:
            model = Path(folder, "tiny.gguf")
            write_tiny_gguf(model)
        params = xllamacpp.CommonParams()
        params.model.path = str(model)
        params.model_alias = ["tiny"]
        params.hostnames, params.port = ["127.0.0.1"], _free_port()
        params.n_ctx, params.n_parallel = ctx, parallel
        params.ui, params.verbosity = False, 0
        # One thread: with more, llama.cpp waits at spin barriers and all but stops on a busy machine.
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        if api_key:
            params.api_keys = [api_key]
        server = xllamacpp.Server(params)
        try:
            yield f"{server.listening_address}/v1"
        finally:
            del server


@pytest.fixture(scope="session")
def llama() -> Generator[str]:
    """The base URL of one server for the whole run; a conftest imports it by name."""
    with llama_server() as url:
        yield url


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]
