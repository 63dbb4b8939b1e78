"""A moment is when something happened, as text: a log has it as text already, or as seconds since 1970."""

from datetime import UTC, datetime

from pydantic import JsonValue

from stepjudge.formats.reading.shape import as_amount, text_or_none

_YEAR_3000 = 32_503_680_000


def moment(value: JsonValue) -> str | None:
    seconds = as_amount(value)
    if seconds is None or not 0 < seconds < _YEAR_3000:
        return text_or_none(value)
    return datetime.fromtimestamp(seconds, UTC).isoformat()
