"""Serves the app with uvicorn: `python -m judge_service`, or `stepjudge serve`."""

import logging
import os
import signal
from types import FrameType
from typing import Any

from fastapi import FastAPI

from judge_service.app import create_app
from judge_service.gate import check_address
from judge_service.listener import listener
from judge_service.logs import configure
from judge_service.secret import secrets
from judge_service.settings import Settings

log = logging.getLogger(__name__)


def run(**settings: Any) -> None:
    """Serve until told to stop. Keywords override the environment. Raises UnsafeAddress."""
    chosen = Settings(**settings)
    check_address(chosen.host, chosen.api_keys)
    configure(chosen.log_format, chosen.log_level, secrets(None, os.environ))
    app = create_app(chosen)
    server = listener(app, chosen)
    if hasattr(signal, "SIGHUP"):  # not on Windows

        def hang_up(_signal: int, _frame: FrameType | None) -> None:
            reload_keys(app, settings)

        signal.signal(signal.SIGHUP, hang_up)
    server.run()


def reload_keys(app: FastAPI, settings: dict[str, Any]) -> None:
    """Read the settings again, and take the keys from there: for keys that are new, changed or revoked."""
    try:
        read = Settings(**settings).api_keys
    except ValueError as error:
        log.error("the keys stay as they were, because the settings cannot be read: %s", error)
        return
    old: Settings = app.state.settings
    if bool(read) != bool(old.api_keys):
        log.error("the keys stay as they were: to begin or to cease to need keys takes a restart")
        return
    app.state.settings = old.model_copy(update={"api_keys": read})
    log.info("the keys were read again: %d", len(read))


if __name__ == "__main__":
    run()
