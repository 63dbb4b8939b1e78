"""A request is what a client asked of the fake API; a reply is what the test's script says to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

# Any, because a test reads straight into a foreign document: request.body["tools"][0]["function"]["name"].
Document = dict[str, Any]
Distribution = Callable[[str, int], Mapping[str, float]]
"""(token, its offset in the content) -> the probability of each token in that place; empty for the default."""


@dataclass(frozen=True)
class Request:
    number: int
    """1 for the first chat completion this provider was asked for, in order of arrival."""
    attempt: int
    """1 for the first time this exact body came, 2 for the second..."""
    digest: int
    """CRC-32 of the body's bytes: the same in every run, whatever the order of arrival."""
    headers: Mapping[str, str]
    """With lower-case names."""
    body: Document

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[Document]:
        return self.body.get("messages") or []

    @cached_property
    def system(self) -> str:
        """The text of the system (or developer) messages."""
        return self._text_of("system", "developer")

    @cached_property
    def user(self) -> str:
        """The text of the user messages."""
        return self._text_of("user")

    @property
    def schema(self) -> Document | None:
        """The JSON Schema the answer must follow: of the response format, or of the tool that must be called."""
        asked: Document = self.body.get("response_format") or {}
        if asked.get("type") == "json_schema":
            return asked["json_schema"].get("schema")
        return next((tool.get("parameters") for tool in self._functions if tool["name"] == self.forced_tool), None)

    @cached_property
    def forced_tool(self) -> str | None:
        """The function the client insists on, by name or by `required`."""
        match self.body.get("tool_choice"):
            case {"function": {"name": str(name)}}:
                return name
            case "required" if self._functions:
                return str(self._functions[0]["name"])
            case _:
                return None

    @property
    def offered_tool(self) -> str:
        return str(self._functions[0]["name"]) if self._functions else "answer"

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def token_limit(self) -> int | None:
        return self.body.get("max_completion_tokens") or self.body.get("max_tokens")

    @property
    def _functions(self) -> list[Document]:
        tools: list[Document] = self.body.get("tools") or []
        return [tool["function"] for tool in tools if "function" in tool]

    def _text_of(self, *roles: str) -> str:
        return "\n".join(text_of(message.get("content")) for message in self.messages if message.get("role") in roles)


@dataclass(frozen=True)
class Reply:
    content: str | Document | None = None
    """A mapping becomes JSON. Where the client forces a tool call, this becomes the call's arguments."""
    tool_arguments: str | Document | None = None
    """A tool call, whether or not the client forced one."""
    refusal: str | None = None
    reasoning: str | None = None
    """Comes back as `reasoning_content` and is counted in the completion tokens."""
    finish_reason: str | None = None
    """None: what a provider would say."""
    model: str | None = None
    """The name that answers when it is not the name that was asked."""
    logprobs: Distribution | None = None
    """Used when the client asks for log-probabilities; None invents plausible ones."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def text_of(content: str | list[Document] | None) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return content or ""


def written(content: str | Document | None) -> str | None:
    return orjson.dumps(content).decode() if isinstance(content, dict) else content
