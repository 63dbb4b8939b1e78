"""A served app is a real uvicorn on a free loopback port, in a thread of its own."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from judge_service.app import create_app
from judge_service.settings import Settings


@contextmanager
def serving(data_dir: Path, **settings: Any) -> Generator[str]:
    """Yields the base URL of a judge service with these settings."""
    app = create_app(Settings(data_dir=data_dir, **settings))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError("the service did not start")
            thread.join(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
