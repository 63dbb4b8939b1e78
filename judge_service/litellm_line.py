"""The line to any provider that litellm reaches. This module alone knows litellm's calls."""
# pyright: basic

import os
from functools import cache
from typing import Any

import anyio

from judge_service.confidence import Token
from judge_service.line import Asking, Said, Used
from judge_service.model_settings import ModelSettings
from judge_service.terms import OPTIONAL, Terms, held_to

_FORWARDED = "llm_provider-"
"""What litellm puts before the names of a provider's own headers."""


class LitellmLine:
    """Requests through litellm, which never retries by itself here."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings

    async def terms(self) -> Terms:
        return _supported(await anyio.to_thread.run_sync(litellm), self._settings.model)

    async def send(self, asking: Asking) -> Said:
        sdk = await anyio.to_thread.run_sync(litellm)
        with anyio.fail_after(self._settings.timeout_s + 5):
            return _said(await sdk.acompletion(**self._request(asking)), asking.terms)

    def _request(self, asking: Asking) -> dict[str, Any]:
        settings = self._settings
        request: dict[str, Any] = {
            "model": settings.model,
            "messages": asking.messages,
            "max_tokens": asking.limit,
            "timeout": settings.timeout_s,
            # litellm and the SDK below it would retry behind our back
            "num_retries": 0,
            "max_retries": 0,
            **settings.optional(asking.terms.dropped),
            **held_to(asking.schema, asking.terms.mode),
        }
        secret = settings.api_key.get_secret_value() if settings.api_key else None
        if settings.api_base:
            # a key from the environment belongs to the provider, not to whoever listens at this address
            request |= {"api_base": settings.api_base, "api_key": secret or "none"}
        elif secret:
            request["api_key"] = secret
        return request


@cache
def litellm() -> Any:
    """litellm, imported late (seconds) and kept from fetching price lists and beta headers over the network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    import litellm

    litellm.suppress_debug_info = True
    return litellm


def _supported(sdk: Any, model: str) -> Terms:
    """The strictest mode litellm can pass on to this provider, and what it cannot. Unknown models get everything."""
    try:
        known = sdk.get_supported_openai_params(model) or []
    except Exception:  # litellm raises bare exceptions for a model whose provider it cannot tell; the call will say so
        known = []
    if not known:
        return Terms("json_schema", ())
    dropped = tuple(name for name in OPTIONAL if name not in known)
    if "response_format" in known:
        return Terms("json_schema", dropped)
    return Terms("tool" if "tools" in known else "text", dropped)


def _said(response: Any, terms: Terms) -> Said:
    choice = response.choices[0]
    message = choice.message
    text = message.content or ""
    if terms.mode == "tool" and message.tool_calls:
        text = message.tool_calls[0].function.arguments or ""
    usage = getattr(response, "usage", None)
    hidden = getattr(response, "_hidden_params", None) or {}
    headers = hidden.get("additional_headers") or {}
    return Said(
        text=text,
        finish_reason=choice.finish_reason or "",
        refusal=getattr(message, "refusal", None),
        model=response.model,
        used=Used(
            getattr(usage, "prompt_tokens", None),
            getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None),
            getattr(usage, "completion_tokens", None),
        ),
        tokens=_tokens(choice),
        headers={str(name).lower().removeprefix(_FORWARDED): str(value) for name, value in headers.items()},
        listed_cost_usd=hidden.get("response_cost"),
    )


def _tokens(choice: Any) -> tuple[Token, ...]:
    content = getattr(getattr(choice, "logprobs", None), "content", None) or []
    return tuple(
        Token(item.token, item.logprob, tuple((other.token, other.logprob) for other in item.top_logprobs or []))
        for item in content
    )
