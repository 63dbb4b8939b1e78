"""The panel holds the judges of this service by name, and makes each one once."""

from functools import cached_property

from judge_service.errors import UnknownJudge
from judge_service.judge import NamedJudge
from judge_service.judges.llm import LlmJudge
from judge_service.judges.rules import RulesJudge
from judge_service.model import LitellmModel
from judge_service.settings import Settings

RULES = "rules"


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
        if name not in self.names and not (self._settings.any_model and "/" in name):
            hint = (
                "; a litellm model is named with its provider, as in openai/gpt-5.2" if self._settings.any_model else ""
            )
            raise UnknownJudge(f"no judge {name!r}: there are {', '.join(self.names)}{hint}")
        if name not in self._made:
            self._made[name] = NamedJudge(name, self._make(name))
        return self._made[name]

    def _make(self, name: str) -> RulesJudge | LlmJudge:
        if name == RULES:
            return RulesJudge()
        settings = self._settings.model(name)
        return LlmJudge(LitellmModel(settings), settings.specification())
