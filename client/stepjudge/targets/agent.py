"""An agent target is an agent behind HTTP: a template makes the request, and paths pick the delivery from its reply."""

from typing import Literal

import httpx2
from pydantic import Field, JsonValue, ValidationError

from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.targets.http import NoReply, exchange
from stepjudge.targets.placeholder import Nothing, filled, picked
from stepjudge.targets.target import Assignment, Delivery
from stepjudge.trace import Trace
from stepjudge.value import JsonObject, Value


class ReplyMapping(Value):
    """Paths into the reply, such as `result.answer` or `messages.0.content`."""

    output_text: str | None = None
    trace: str | None = None
    trace_format: str | None = None
    """Name of the trace's format; detected when null."""
    status: str | None = None
    """Of `completed`, `partial` or `failed`."""
    error: str | None = None
    """What went wrong, in words; a reply that has it is a failed attempt, unless its status says otherwise."""
    environment: str | None = None
    """A folder on this machine that holds the final environment."""
    measurements: dict[str, str] = Field(default_factory=dict[str, str])
    """By name of the measurement: `prompt_tokens`, `completion_tokens`, `cost_usd` …"""


class AgentSpecification(Value):
    """Where the agent is, how it is asked, and where its reply holds what."""

    kind: Literal["http"] = "http"
    name: str
    url: str
    method: Literal["POST", "PUT", "GET"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    headers_env: dict[str, str] = Field(default_factory=dict[str, str])
    """Headers whose values are in environment variables: header → variable."""
    body: JsonValue = Field(default_factory=lambda: {"inputs": "{{ inputs }}"})
    """The request's JSON. Placeholders take `inputs.…`, `task_id`, `trial` and `workspace`."""
    reply: ReplyMapping = ReplyMapping(output_text="output_text")


class AgentTarget:
    def __init__(
        self, chosen: AgentSpecification, http: httpx2.AsyncClient, secret_headers: dict[str, str] | None = None
    ) -> None:
        self._chosen = chosen
        self._http = http
        self._headers = {"content-type": "application/json", **chosen.headers, **(secret_headers or {})}

    @property
    def specification(self) -> JsonObject:
        return self._chosen.model_dump(mode="json")

    async def attempt(self, assignment: Assignment) -> Delivery:
        chosen = self._chosen
        body = None if chosen.method == "GET" else filled(chosen.body, assignment.model_dump(mode="json"))
        reply = await exchange(self._http, chosen.method, chosen.url, body, self._headers)
        return delivered(reply, chosen.reply)


def delivered(reply: JsonValue, where: ReplyMapping) -> Delivery:
    """What a reply delivers. Raises NoReply when it lacks what the mapping names."""
    error = _optional(reply, where.error)
    status = _picked(reply, where.status) if where.status else ("failed" if error else "completed")
    trace = None if error and where.trace is None else _trace(_optional(reply, where.trace), where.trace_format)
    output = _optional(reply, where.output_text) if error else _picked(reply, where.output_text)
    document = {
        "status": status,
        "output_text": output,
        "trace": trace,
        "environment": _optional(reply, where.environment),
        "error": {"type": "AgentError", "message": str(error)} if error else None,
        "measurements": {name: _optional(reply, path) for name, path in where.measurements.items()},
    }
    try:
        return Delivery.model_validate(document)
    except ValidationError as error:
        raise NoReply(f"the reply does not fit the mapping: {error.errors(include_url=False)[0]['msg']}") from error


def _trace(document: JsonValue, format: str | None) -> Trace | None:
    if document is None:
        return None
    try:
        first, *more = read_document(document, format=format)
    except UnreadableTrace as error:
        raise NoReply(f"the reply's trace cannot be read: {error}") from error
    if more:
        raise NoReply(f"the reply holds {1 + len(more)} traces: let the mapping's path name one")
    return first


def _picked(reply: JsonValue, path: str | None) -> JsonValue:
    if path is None:
        return None
    try:
        return picked(reply, path)
    except Nothing as error:
        raise NoReply(f"the reply does not hold what the mapping names: {error}") from error


def _optional(reply: JsonValue, path: str | None) -> JsonValue:
    try:
        return picked(reply, path) if path else None
    except Nothing:
        return None
