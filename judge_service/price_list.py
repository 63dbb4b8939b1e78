"""The price list is litellm's, read as the file that it is: importing litellm for it would take seconds."""

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

from judge_service.model_name import provider


@cache
def _listed() -> dict[str, Any]:
    found = importlib.util.find_spec("litellm")
    if found is None or found.origin is None:
        return {}
    try:
        return json.loads((Path(found.origin).parent / "model_prices_and_context_window_backup.json").read_bytes())
    except (OSError, ValueError):  # litellm may move its file; it is then asked itself
        return {}


def entry(model: str) -> dict[str, float] | None:
    """USD per token of a model, by the list's own names; null where the list has none, or prices it by tiers."""
    listed = _listed()
    found = listed.get(model)
    if found is None:
        bare = listed.get(model.partition("/")[2])
        found = bare if bare and bare.get("litellm_provider") == provider(model) else None
    if found is None or any("_above_" in name for name in found) or "tiered_pricing" in found:
        return None
    return {name: price for name, price in found.items() if "cost_per_token" in name or "token_cost" in name}
