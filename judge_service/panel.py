"""The panel holds the judges of this service by name, and makes each one once."""

from functools import cached_property

from judge_service.errors import UnknownJudge
from judge_service.judge import NamedJudge
from judge_service.judges.llm import LlmJudge
from judge_service.judges.rules import RulesJudge
from judge_service.model import LitellmModel
from judge_service.model_name import NAMED_BY_CALLERS, provider, why_not_a_model
from judge_service.settings import RULES, Settings


class Panel:
    """Judges by name: the offline rules, the configured ones, and any model where that is allowed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: dict[str, NamedJudge] = {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([RULES, *self._settings.judges, self._settings.judge]))

    @property
    def default(self) -> str:
        return self._settings.judge

    def find(self, name: str | None) -> NamedJudge:
        """The judge of that name, the default one for null. Raises UnknownJudge."""
        name = name or self.default
        if name not in self.names and (reason := self._why_not(name)) is not None:
            raise UnknownJudge(f"no judge {name[:200]!r}: there are {', '.join(self.names)}{reason}")
        if name not in self._made:
            self._made[name] = NamedJudge(name, self._make(name))
        return self._made[name]

    def _why_not(self, name: str) -> str | None:
        """What keeps a caller from having this model; null when nothing does."""
        if not self._settings.any_model:
            return ""
        if reason := why_not_a_model(name):
            return f"; {reason}"
        return None if provider(name) in NAMED_BY_CALLERS else f"; no provider {provider(name)!r} may be named"

    def _make(self, name: str) -> RulesJudge | LlmJudge:
        if name == RULES:
            return RulesJudge()
        model = LitellmModel(self._settings.model(name))
        return LlmJudge(model, model.specification())
