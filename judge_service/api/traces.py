"""`/v1/traces`: read a document in any format and answer its canonical traces; `/v1/formats` lists the formats."""

import anyio
from fastapi import APIRouter, Depends, Request

from judge_service.api.problems import problems
from judge_service.errors import UnreadableDocument
from judge_service.gate import needs
from stepjudge.contract import FormatCard, ReadTraces
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import formats, read_bytes

router = APIRouter(prefix="/v1", tags=["traces"], dependencies=[Depends(needs("judge"))])

_BODY = {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}


@router.post("/traces", responses=problems(UnreadableDocument), openapi_extra={"requestBody": _BODY})
async def read_traces(request: Request, format: str | None = None) -> ReadTraces:
    """Read the body, a file as the harness wrote it (JSON, JSON Lines, gzip or zip), into canonical traces."""
    return await anyio.to_thread.run_sync(_read, await request.body(), format)


@router.get("/formats", responses=problems())
async def list_formats() -> tuple[FormatCard, ...]:
    """The formats that are read."""
    return tuple(FormatCard(name=each.name, title=each.title) for each in formats())


def _read(body: bytes, format: str | None) -> ReadTraces:
    try:
        return ReadTraces(traces=tuple(read_bytes(body, format=format, name="the request's body")))
    except UnreadableTrace as error:
        raise UnreadableDocument(str(error)) from error
