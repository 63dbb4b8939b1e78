"""A watched model is a model whose every call is counted, timed and traced."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from judge_service.model import Completion, Model, ModelUnavailable
from judge_service.model_name import provider
from judge_service.model_settings import ModelSettings
from judge_service.prompt import Prompt
from judge_service.telemetry import Attributes
from judge_service.watch import Watch
from stepjudge.value import JsonObject


class WatchedModel:
    """Speaks for the model within."""

    def __init__(self, model: Model, settings: ModelSettings, watch: Watch) -> None:
        self._model = model
        self._name = settings.model
        self._watch = watch
        self._asked = _asked(settings)

    @property
    def reply_limit(self) -> int:
        return self._model.reply_limit

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        return self._model.price(prompt_tokens, completion_tokens)

    async def complete(
        self, prompt: Prompt, said: Sequence[tuple[str, str]], schema: JsonObject, limit: int
    ) -> Completion:
        asked = {**self._asked, "gen_ai.request.max_tokens": limit}
        with self._watch.tracing.span(f"chat {self._name.partition('/')[2]}", asked, "client") as span:
            try:
                completion = await self._model.complete(prompt, said, schema, limit)
            except ModelUnavailable as error:
                self._watch.metrics.unavailable(self._name, error.cause, error.attempts)
                span.tell({"stepjudge.attempts": error.attempts})
                span.failed(error.cause)
                raise
            span.tell(_answered(completion))
        self._watch.metrics.completed(self._name, completion)
        return completion


def _asked(settings: ModelSettings) -> Attributes:
    at = urlsplit(settings.api_base or "")
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider(settings.model),
        "gen_ai.request.model": settings.model.partition("/")[2],
        "gen_ai.request.temperature": settings.temperature,
        "gen_ai.request.top_p": settings.top_p,
        "gen_ai.request.seed": settings.seed,
        "gen_ai.output.type": "json",
        "server.address": at.hostname,
        "server.port": at.port,
    }


def _answered(completion: Completion) -> Attributes:
    return {
        "gen_ai.response.model": completion.model,
        "gen_ai.response.finish_reasons": (completion.finish_reason,),
        "gen_ai.usage.input_tokens": completion.prompt_tokens,
        "gen_ai.usage.cache_read.input_tokens": completion.cached_tokens,
        "gen_ai.usage.output_tokens": completion.completion_tokens,
        "stepjudge.attempts": completion.attempts,
        "stepjudge.cost_usd": completion.cost_usd,
    }
