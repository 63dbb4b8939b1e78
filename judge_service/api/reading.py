"""Reading takes the one trace out of a request's document, within this service's limits."""

from typing import Any

from judge_service.errors import TraceTooLong, UnreadableDocument
from judge_service.settings import Settings
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.trace import Trace


def one_trace(document: Any, format: str | None, settings: Settings) -> Trace:
    """The trace. Raises UnreadableDocument, also when there are several, and TraceTooLong."""
    try:
        traces = [trace for trace, _ in zip(read_document(document, format=format), range(2), strict=False)]
    except UnreadableTrace as error:
        raise UnreadableDocument(str(error)) from error
    if len(traces) != 1:
        found = "more than one trace" if traces else "no trace"
        raise UnreadableDocument(f"the document holds {found}; send one trace per request")
    if len(traces[0].steps) > settings.max_steps:
        raise TraceTooLong(f"the trace has {len(traces[0].steps)} steps; this service takes up to {settings.max_steps}")
    return traces[0]
