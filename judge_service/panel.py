"""The panel holds the judges of this service by name, and makes each one once."""

from functools import cached_property

from judge_service.batches.batched_model import BatchedModel
from judge_service.batches.pile import Pile
from judge_service.court_settings import CascadeSettings, JurySettings
from judge_service.direct_line import Wire
from judge_service.errors import UnknownJudge
from judge_service.judges.cascade import Cascade, Referred, Threshold
from judge_service.judges.judge import Court, Judge, NamedJudge, Seat
from judge_service.judges.jury import Jury
from judge_service.judges.llm import LlmJudge
from judge_service.judges.rules import RulesJudge
from judge_service.limiter import Limiters
from judge_service.model_name import NAMED_BY_CALLERS, provider, why_not_a_model
from judge_service.provider_model import ProviderModel
from judge_service.settings import RULES, Settings
from judge_service.watch import Watch
from judge_service.watched_model import WatchedModel


class Panel:
    """Judges by name: the offline rules, the configured ones, and any model where that is allowed."""

    def __init__(self, settings: Settings, watch: Watch | None = None, pile: Pile | None = None) -> None:
        """With a pile, its models are not asked: they answer from the pile, and questions are laid there."""
        self._settings = settings
        self._pile = pile
        self._watch = watch or Watch()
        self._models: dict[str, ProviderModel] = {}
        self._made: dict[str, NamedJudge] = {}
        self._wire = Wire()
        self.limiters = Limiters()

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

    @property
    def down(self) -> dict[str, str]:
        """Judges whose model is not asked for a while, each with why and until when."""
        told = {f"judge {name}": model.limiter.pause() for name, model in tuple(self._models.items())}
        return {name: pause for name, pause in told.items() if pause}

    async def aclose(self) -> None:
        """Let go of the connections to providers, when nothing is under way any more."""
        await self._wire.aclose()

    def _why_not(self, name: str) -> str | None:
        """What keeps a caller from having this model; null when nothing does."""
        if not self._settings.any_model:
            return ""
        if reason := why_not_a_model(name):
            return f"; {reason}"
        return None if provider(name) in NAMED_BY_CALLERS else f"; no provider {provider(name)!r} may be named"

    def _make(self, name: str) -> Judge | Court:
        match self._settings.courts.get(name):
            case JurySettings() as jury:
                return self._jury(jury)
            case CascadeSettings() as cascade:
                return self._cascade(name, cascade)
            case None:
                return self._alone(name)

    def _jury(self, settings: JurySettings) -> Jury:
        numbers = range(settings.samples)
        seats = [self._seat(name, number, settings.samples) for name in settings.members for number in numbers]
        return Jury(seats, needs=settings.needs, note=self._sameness(settings))

    def _cascade(self, name: str, settings: CascadeSettings) -> Cascade:
        first = [self._seat(member) for member in settings.first]
        referred = Referred(self._alone(settings.then), [seat.judge for seat in first])
        then = Seat(settings.then, NamedJudge(f"{settings.then} in {name}", referred), share=settings.share)
        return Cascade(first, then, Threshold(settings.below_confidence, settings.escalate_no))

    def _seat(self, name: str, number: int = 0, samples: int = 1) -> Seat:
        # a member answers as it would alone; whether callers may name it does not matter here
        self._made.setdefault(name, NamedJudge(name, self._make(name)))
        return Seat(f"{name} #{number + 1}" if samples > 1 else name, self._made[name], number, samples)

    def _sameness(self, settings: JurySettings) -> str:
        """What keeps samples from differing; empty when nothing does."""
        models = [self._settings.model(name) for name in settings.members if name != RULES]
        if settings.samples == 1 or not any(model.temperature == 0 or model.seed is not None for model in models):
            return ""
        return "samples at temperature 0, or with a seed, are mostly the same answer again: raise the temperature"

    def _alone(self, name: str) -> RulesJudge | LlmJudge:
        if name == RULES:
            return RulesJudge()
        settings = self._settings.model(name)
        if self._pile is not None:
            batched = BatchedModel(settings, name, self._pile)
            return LlmJudge(WatchedModel(batched, settings, self._watch), batched.specification())
        model = ProviderModel(settings, self._wire, self.limiters)
        self._models[name] = model
        return LlmJudge(WatchedModel(model, settings, self._watch), model.specification())
