"""Usage is what an emission cost in tokens and money, in the spelling of any provider."""

from pydantic import JsonValue

from stepjudge.formats.reading.shape import as_amount, as_count, as_object
from stepjudge.trace import Usage
from stepjudge.value import JsonObject


def read_usage(value: JsonValue, *, cost: JsonValue = None) -> Usage | None:
    """Null when nothing is stated. `cost` is for formats that keep the money beside the tokens."""
    if value is None and cost is None:
        return None
    stated = as_object(value)
    cached = _cached(stated)
    prompt = _prompt_tokens(stated, cached)
    completion = _first(stated, "completion_tokens", "output_tokens")
    amount = as_amount(cost) if cost is not None else as_amount(stated.get("cost_usd", stated.get("cost")))
    if (prompt, cached, completion, amount) == (None, None, None, None):
        return None
    return Usage(prompt_tokens=prompt, cached_tokens=cached, completion_tokens=completion, cost_usd=amount)


def _cached(stated: JsonObject) -> int | None:
    details = as_object(stated.get("prompt_tokens_details") or stated.get("input_tokens_details"))
    found = as_count(details.get("cached_tokens"))
    return _first(stated, "cache_read_input_tokens", "cached_tokens") if found is None else found


def _prompt_tokens(stated: JsonObject, cached: int | None) -> int | None:
    """Anthropic's `input_tokens` leaves out what was read from or written to the cache; everybody else's counts it."""
    prompt = as_count(stated.get("prompt_tokens"))
    if prompt is not None:
        return prompt
    fresh = as_count(stated.get("input_tokens"))
    if fresh is None or not {"cache_read_input_tokens", "cache_creation_input_tokens"} & stated.keys():
        return fresh
    return fresh + (cached or 0) + (as_count(stated.get("cache_creation_input_tokens")) or 0)


def _first(stated: JsonObject, *keys: str) -> int | None:
    return next((found for key in keys if (found := as_count(stated.get(key))) is not None), None)
