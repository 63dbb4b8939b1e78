"""A reflector is the model that proposes words for a criterion. It is asked from this process, wherever the judge runs."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from stepjudge.errors import StepjudgeError
from stepjudge.tuning.reflection import SYSTEM
from stepjudge.tuning.wording import SCHEMA

if TYPE_CHECKING:
    from judge_service.provider_model import ProviderModel

MOST_TOKENS = 4_096


class ReflectorFailed(StepjudgeError):
    """The model gave no answer."""


class Reflector:
    """Asks the model, and counts what it costs."""

    def __init__(self, model: "ProviderModel", portal: BlockingPortal) -> None:
        self._model = model
        self._portal = portal
        self.cost_usd: float | None = 0.0
        """Null when the price is not known."""

    def __call__(self, request: str) -> str:
        """A wording, as JSON. Raises ReflectorFailed."""
        from judge_service.model import ModelUnavailable
        from judge_service.prompt import Prompt

        asking = Prompt(system=SYSTEM, blocks=(), question=request)
        try:
            completion = self._portal.call(self._model.complete, asking, (), SCHEMA, MOST_TOKENS)
        except ModelUnavailable as error:
            raise ReflectorFailed(f"the reflector gave no answer: {error}") from error
        known = self.cost_usd is not None and completion.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (completion.cost_usd or 0.0) if known else None
        return completion.text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()


@contextmanager
def reflector(name: str, settings: Mapping[str, Any]) -> Generator[Reflector]:
    """The model of that name, by the settings that an embedded service has. Raises StepjudgeError."""
    try:
        from judge_service.direct_line import Wire
        from judge_service.limiter import Limiters
        from judge_service.provider_model import ProviderModel
        from judge_service.settings import Settings, told_plainly
    except ModuleNotFoundError as error:
        raise StepjudgeError(
            f"the reflector needs more packages ({error.name}): pip install 'stepjudge[service]'"
        ) from error
    try:
        meant = Settings(**settings).model(name)
    except ValueError as error:
        raise StepjudgeError(told_plainly(error)) from error
    with start_blocking_portal() as portal:
        wire = Wire()
        try:
            yield Reflector(ProviderModel(meant, wire, Limiters()), portal)
        finally:
            portal.call(wire.aclose)
