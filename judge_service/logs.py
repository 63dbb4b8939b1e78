"""Logs are lines, one for each thing that happened, as JSON or as text; no caller can make one that is not ours.

Libraries' records take the same form. Secrets are cut out of every line.
"""

import json
import logging
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

from judge_service.secret import without_secrets
from judge_service.visit import VISIT
from stepjudge.value import JsonObject
from stepjudge.visible import visible

LogFormat = Literal["text", "json"]

_LONGEST = 8_000
_OURS = ("judge_service", "stepjudge", "uvicorn")


class Lines(logging.Formatter):
    """One line for a record. `fields` of a record, as in `extra={"fields": {…}}`, stand beside its message."""

    def __init__(self, form: LogFormat, secrets: Iterable[str] = ()) -> None:
        super().__init__()
        self._form = form
        self._secrets = tuple(secrets)

    def format(self, record: logging.LogRecord) -> str:
        told = self._told(record)
        written = json.dumps(told, ensure_ascii=True, default=str) if self._form == "json" else _text(told)
        return without_secrets(written, self._secrets)

    def _told(self, record: logging.LogRecord) -> JsonObject:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told: JsonObject = {
            "time": at,
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:_LONGEST],
        }
        if visit := VISIT.get():
            told |= {"request_id": visit.request_id, "trace_id": visit.trace_id}
        told |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1]:
            told["exception"] = "".join(traceback.format_exception(record.exc_info[1]))[-_LONGEST:]
        return told


def _text(told: JsonObject) -> str:
    """Time, level, logger, message, then the rest by name. A traceback is indented, so that no line of it passes for ours."""
    rest = {
        name: value for name, value in told.items() if name not in ("time", "level", "logger", "message", "exception")
    }
    pairs = [f"{name}={json.dumps(value, default=str)}" for name, value in rest.items()]
    line = " ".join(
        [f"{told['time']} {told['level']:7} {told['logger']}", _shown(told["message"]), *map(_shown, pairs)]
    )
    trace = str(told.get("exception", ""))
    return line + "".join(f"\n    | {_shown(each)}" for each in trace.splitlines())


def _shown(value: object) -> str:
    return visible(str(value)).replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def configure(form: LogFormat, level: str, secrets: Iterable[str] = ()) -> None:
    """Send the records of this process to standard error as lines. Libraries tell warnings only."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines(form, secrets))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in _OURS:
        logging.getLogger(name).setLevel(level.upper())
    logging.captureWarnings(True)
