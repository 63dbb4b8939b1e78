"""Serves the app with uvicorn: `python -m judge_service`, or `stepjudge serve`."""

from typing import Any

import uvicorn

from judge_service.app import create_app
from judge_service.gate import check_address
from judge_service.settings import Settings


def run(**settings: Any) -> None:
    """Serve until told to stop. Keywords override the environment. Raises UnsafeAddress."""
    chosen = Settings(**settings)
    check_address(chosen.host, chosen.api_keys)
    uvicorn.run(create_app(chosen), host=chosen.host, port=chosen.port, timeout_graceful_shutdown=30)


if __name__ == "__main__":
    run()
