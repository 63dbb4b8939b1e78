"""The document is what the service publishes of itself at `/openapi.json`: good enough to generate a client from."""

from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from stepjudge.contract import Event

_SCHEMAS = "#/components/schemas/{model}"


def reference(schema: str) -> str:
    """Where the document holds a schema that no route returns as its one answer: `Problem`, `Event` and its kinds."""
    return _SCHEMAS.format(model=schema)


def operation_id(route: APIRoute) -> str:
    """The route's own name, `list_verdicts`: generators make it the name of a method."""
    return route.name


def install(app: FastAPI, *, keys_needed: bool) -> None:
    """Complete what FastAPI writes of the routes. Call it when all routes are there."""
    written = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(written(), keys_needed=keys_needed)
        return app.openapi_schema

    app.openapi = document


def _completed(document: dict[str, Any], *, keys_needed: bool) -> dict[str, Any]:
    schemas = document["components"]["schemas"]
    for name, schema in _event_schemas().items():
        schemas.setdefault(name, schema)
    if not keys_needed:
        for operation in (each for path in document["paths"].values() for each in path.values()):
            if "security" in operation:
                operation["security"].insert(0, {})  # nobody needs a key; one that is sent does no harm
    return document


def _event_schemas() -> dict[str, Any]:
    """The lines of a stream, as a union that `type` tells apart. OpenAPI 3.1 has no place for them in a media type."""
    event = TypeAdapter[Event](Event).json_schema(mode="serialization", ref_template=_SCHEMAS)
    return {**event.pop("$defs"), "Event": {**event, "title": "Event", "description": "One line of a stream."}}
