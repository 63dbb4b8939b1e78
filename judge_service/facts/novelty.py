"""Novelty is the share of a result that no earlier result has shown: its documents, or else its lines."""

import json
from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.trace import Call, Step
from stepjudge.verdict import Fact

_LONGEST_JSON = 20_000_000
_LISTS = ("result", "results", "documents", "docs", "hits", "passages", "items", "matches", "data", "response")
_TEXTS = ("contents", "content", "text", "snippet", "passage", "body", "abstract", "summary", "page_content")
_IDENTITIES = ("id", "_id", "doc_id", "document_id", "url", "link", "uri")


class Novelty:
    """Remembers every line and every document that a result has shown."""

    def __init__(self) -> None:
        self._lines: set[str] = set()
        self._documents: set[str] = set()

    def of(self, step: Step) -> Iterator[Fact]:
        for number, call in enumerate(step.calls, start=1):
            if call.result.text.strip():
                yield from self._of_call(number, call)

    def _of_call(self, number: int, call: Call) -> Iterator[Fact]:
        lines = {line.strip() for line in call.result.text.splitlines()} - {""}
        new_lines = len(lines - self._lines)
        self._lines |= lines
        shown = documents(call.result.text)
        if shown is None:
            detail = f"{new_lines / max(len(lines), 1):.2f}: {new_lines} of {len(lines)} lines are new"
            yield Fact(name="new_information", call=number, detail=detail)
        elif not shown:
            yield Fact(name="no_documents", call=number, detail="the search returned an empty list")
        else:
            yield from self._of_documents(number, frozenset(shown))

    def _of_documents(self, number: int, shown: frozenset[str]) -> Iterator[Fact]:
        new = len(shown - self._documents)
        self._documents |= shown
        yield Fact(name="documents", call=number, detail=f"{len(shown)} returned, {new} new")
        share = f"{new / len(shown):.2f}: {new} of {len(shown)} documents are new"
        yield Fact(name="new_information", call=number, detail=share)
        if new:
            yield Fact(name="new_documents", call=number)


def documents(text: str) -> list[str] | None:
    """The identities of the documents in a search's JSON result; None when the text is no list of documents."""
    if text.lstrip()[:1] not in ("{", "[") or len(text) > _LONGEST_JSON:
        return None
    try:
        found = _list(json.loads(text))
    except (ValueError, RecursionError):
        return None
    if found is None:
        return None
    identities = [_identity(document) for document in found]
    known = [identity for identity in identities if identity is not None]
    return known if len(known) == len(identities) else None


def _list(value: JsonValue) -> list[JsonValue] | None:
    if isinstance(value, dict):
        lists = [value[key] for key in _LISTS if isinstance(value.get(key), list | dict)]
        return _list(lists[0]) if len(lists) == 1 else None
    if not isinstance(value, list):
        return None
    # A search with several queries returns a list per query.
    if value and all(isinstance(part, list) for part in value):
        return [document for part in value if isinstance(part, list) for document in part]
    return value


def _identity(document: JsonValue) -> str | None:
    if not isinstance(document, dict):
        return None
    inner = document.get("document")
    if isinstance(inner, dict):
        return _identity(inner)
    text = next((part for key in _TEXTS if isinstance(part := document.get(key), str)), None)
    if text is None:
        return None
    return next((str(part) for key in _IDENTITIES if isinstance(part := document.get(key), str | int)), text)
