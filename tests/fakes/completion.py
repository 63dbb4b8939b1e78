"""A completion is a reply as the wire carries it: a chat-completion object, or the same as server-sent events."""

import re
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from math import exp, log
from typing import Any
from zlib import crc32

import orjson

from fakes.prefix import BYTES_PER_TOKEN, tokens_in
from fakes.request import Document, Reply, Request, written

# Long words split and punctuation clumps (`":"`), as with the paid tokenizers; every character is in some token.
TOKEN = re.compile(r" ?[^\W_]{1,8}|_[^\W_]{0,7}|\s+|[^\w\s]+")
OPPOSITES = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
CREATED = 1_760_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*map(sum, zip(astuple(self), astuple(other), strict=True)))


NO_USAGE = Usage()


def kept_to_limit(request: Request, reply: Reply) -> Reply:
    """The reply in plain strings, cut where the client's own token limit ends it."""
    content, arguments = written(reply.content), written(reply.tool_arguments)
    if arguments is None and request.forced_tool and content is not None:
        content, arguments = None, content
    text = (arguments if arguments is not None else content) or ""
    if request.token_limit and tokens_in(text) > request.token_limit:
        cut = text.encode()[: request.token_limit * BYTES_PER_TOKEN].decode(errors="ignore")
        content, arguments = (content, cut) if arguments is not None else (cut, None)
        reply = replace(reply, finish_reason=reply.finish_reason or "length")
    return replace(reply, content=content, tool_arguments=arguments)


def used(reply: Reply, *, prompt: int, cached: int) -> Usage:
    thought = tokens_in(reply.reasoning or "")
    said = sum(tokens_in(written(part) or "") for part in (reply.content, reply.tool_arguments, reply.refusal))
    return Usage(prompt, cached, said + thought, thought)


def whole(request: Request, reply: Reply, usage: Usage) -> bytes:
    """The non-streaming body; `reply` has been through `kept_to_limit`."""
    choice: Document = {
        "index": 0,
        "message": _message(request, reply),
        "finish_reason": _finish_reason(request, reply),
        "logprobs": _logprobs(request, reply),
    }
    return orjson.dumps(_envelope(request, reply, "chat.completion") | {"choices": [choice], "usage": _usage(usage)})


def events(request: Request, reply: Reply, usage: Usage) -> Iterator[bytes]:
    """The same as server-sent events, one token each."""
    envelope = _envelope(request, reply, "chat.completion.chunk")
    for delta, logprobs in _deltas(request, reply):
        yield _event(
            envelope | {"choices": [{"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": None}]}
        )
    last: Document = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": _finish_reason(request, reply)}
    yield _event(envelope | {"choices": [last]})
    options: Document = request.body.get("stream_options") or {}
    if options.get("include_usage"):
        yield _event(envelope | {"choices": [], "usage": _usage(usage)})
    yield b"data: [DONE]\n\n"


def _event(chunk: Document) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def _deltas(request: Request, reply: Reply) -> Iterator[tuple[Document, Document | None]]:
    message = _message(request, reply)
    yield {"role": "assistant", "content": "" if message["content"] else None}, None
    for name in ("reasoning_content", "refusal"):
        if message.get(name):
            yield {name: message[name]}, None
    for call in message.get("tool_calls", ()):
        function = call["function"]
        yield {"tool_calls": [{"index": 0, **call, "function": {**function, "arguments": ""}}]}, None
        for token in TOKEN.findall(function["arguments"]):
            yield {"tool_calls": [{"index": 0, "function": {"arguments": token}}]}, None
    content: str = message["content"] or ""
    scored = (_logprobs(request, reply) or {}).get("content")
    for place, token in enumerate(TOKEN.findall(content)):
        yield {"content": token}, {"content": [scored[place]], "refusal": None} if scored else None


def _envelope(request: Request, reply: Reply, kind: str) -> Document:
    return {
        "id": f"chatcmpl-{request.number}",
        "object": kind,
        "created": CREATED,
        "model": reply.model or request.model,
        "system_fingerprint": "fp_fake",
    }


def _message(request: Request, reply: Reply) -> Document:
    message: Document = {"role": "assistant", "content": reply.content, "refusal": reply.refusal}
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_arguments is not None:
        function = {"name": request.forced_tool or request.offered_tool, "arguments": reply.tool_arguments}
        message["tool_calls"] = [{"id": f"call_{request.number}", "type": "function", "function": function}]
    return message


def _finish_reason(request: Request, reply: Reply) -> str:
    if reply.finish_reason:
        return reply.finish_reason
    # The documented oddity: a call of the function that tool_choice names ends with "stop".
    named = isinstance(request.body.get("tool_choice"), dict)
    return "tool_calls" if reply.tool_arguments is not None and not named else "stop"


def _usage(usage: Usage) -> Document:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens, "audio_tokens": 0},
    }


def _logprobs(request: Request, reply: Reply) -> Document | None:
    """One entry per token; the tokens join to the content."""
    if not request.body.get("logprobs") or not isinstance(reply.content, str):
        return None
    asked = int(request.body.get("top_logprobs") or 0)
    entries: list[Document] = []
    for match in TOKEN.finditer(reply.content):
        token = match.group()
        odds = dict(reply.logprobs(token, match.start()) if reply.logprobs else {}) or _plausible(token, match.start())
        odds.setdefault(token, 1e-4)  # a token that was said had some probability
        top = sorted(odds, key=lambda other: -odds[other])[:asked]
        entries.append(_scored(token, odds) | {"top_logprobs": [_scored(other, odds) for other in top]})
    return {"content": entries, "refusal": None}


def _scored(token: str, odds: dict[str, float]) -> dict[str, Any]:
    return {"token": token, "logprob": max(log(max(odds[token], 1e-9)), -20.0), "bytes": list(token.encode())}


def _plausible(token: str, offset: int) -> dict[str, float]:
    """0.7 to 1 for the token itself, and always the same for the same token in the same place."""
    sure = 1 - 0.3 * (crc32(f"{token}{offset}".encode()) / 2**32) ** 3
    word = token.strip()
    others = [OPPOSITES.get(word, word + "s"), word.upper() + "_", " " + token, token + '"', "\n" + token]
    odds = {token: sure}
    for place, other in enumerate(others, start=1):
        odds.setdefault(other, (1 - sure) * exp(-place))
    return odds
