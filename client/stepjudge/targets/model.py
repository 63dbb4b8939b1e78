"""A model target is one completion of an OpenAI-compatible endpoint: the instruction goes in, its answer comes out."""

from typing import Literal

import httpx2
from pydantic import Field, JsonValue

from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.targets.http import NoReply, exchange
from stepjudge.targets.placeholder import Nothing, filled, picked
from stepjudge.targets.target import Assignment, Delivery
from stepjudge.trace import Trace
from stepjudge.trial import Measurements
from stepjudge.value import JsonObject, Value


class ModelSpecification(Value):
    """Which model, and how it is asked."""

    kind: Literal["model"] = "model"
    model: str
    base_url: str
    """Up to and with `/v1`; `/chat/completions` is asked below it."""
    api_key_env: str | None = None
    """Environment variable that holds the key."""
    system: str = ""
    prompt: str = "{{ inputs.instruction }}"
    """The user's message; placeholders take values of the assignment."""
    tools: tuple[JsonObject, ...] = ()
    """Offered to the model as they stand. Nothing runs them: the attempt ends with the calls it asks for."""
    parameters: JsonObject = Field(default_factory=dict[str, JsonValue])
    """Further fields of the request, such as `temperature` or `max_tokens`."""


class ModelTarget:
    def __init__(self, chosen: ModelSpecification, http: httpx2.AsyncClient, api_key: str | None) -> None:
        self._chosen = chosen
        self._http = http
        self._headers = {"content-type": "application/json"}
        if api_key is not None:
            self._headers["authorization"] = f"Bearer {api_key}"

    @property
    def specification(self) -> JsonObject:
        return {"name": self._chosen.model, **self._chosen.model_dump(mode="json")}

    async def attempt(self, assignment: Assignment) -> Delivery:
        chosen = self._chosen
        prompt = filled(chosen.prompt, assignment.model_dump(mode="json"))
        messages: list[JsonValue] = [{"role": "system", "content": chosen.system}] if chosen.system else []
        messages.append({"role": "user", "content": prompt})
        tools: JsonObject = {"tools": list(chosen.tools)} if chosen.tools else {}
        body: JsonObject = {**chosen.parameters, "model": chosen.model, "messages": messages, **tools}
        url = f"{chosen.base_url.rstrip('/')}/chat/completions"
        reply = await exchange(self._http, "POST", url, body, self._headers)
        try:
            message = picked(reply, "choices.0.message")
        except Nothing as error:
            raise NoReply(f"{url} answered no chat completion: {error}") from error
        if not isinstance(message, dict):
            raise NoReply(f"{url} answered no chat completion: its message is a {type(message).__name__}")
        content = message.get("content")
        return Delivery(
            output_text=content if isinstance(content, str) else None,
            trace=_trace({"messages": [*messages, message], **tools}),
            measurements=_measured(reply),
            metadata={"model": _picked(reply, "model")},
        )


def _trace(document: JsonObject) -> Trace | None:
    try:
        return next(read_document(document, format="openai-chat"))
    except UnreadableTrace as error:
        raise NoReply(f"the model's message cannot be read: {error}") from error


def _measured(reply: JsonValue) -> Measurements:
    return Measurements(
        prompt_tokens=_count(reply, "usage.prompt_tokens"),
        completion_tokens=_count(reply, "usage.completion_tokens"),
        cache_read_tokens=_count(reply, "usage.prompt_tokens_details.cached_tokens"),
    )


def _count(reply: JsonValue, path: str) -> int | None:
    value = _picked(reply, path)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _picked(reply: JsonValue, path: str) -> JsonValue:
    try:
        return picked(reply, path)
    except Nothing:
        return None
