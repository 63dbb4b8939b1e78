"""OpenHands totals are the metrics its events and rows accumulate: tokens and money of a run, and the model."""

from pydantic import JsonValue

from stepjudge.formats.reading.gathering import stated, summed
from stepjudge.formats.reading.shape import as_amount, as_count, as_object, text_or_none
from stepjudge.trace import Usage


def totals(metrics: JsonValue) -> Usage | None:
    found = as_object(metrics)
    tokens = as_object(found.get("accumulated_token_usage"))
    return stated(
        Usage(
            prompt_tokens=as_count(tokens.get("prompt_tokens")),
            cached_tokens=as_count(tokens.get("cache_read_tokens")),
            completion_tokens=as_count(tokens.get("completion_tokens")),
            cost_usd=as_amount(found.get("accumulated_cost")),
        )
    )


def totals_of_stats(stats: JsonValue) -> tuple[Usage | None, str | None]:
    """The sum over the uses of models (agent, condenser …), and the model of the agent, which is told first."""
    uses = [as_object(each) for each in as_object(as_object(stats).get("usage_to_metrics")).values()]
    model = next((name for use in uses if (name := text_or_none(use.get("model_name")))), None)
    return summed(totals(use) for use in uses), model
