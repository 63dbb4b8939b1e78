"""An inquiry is many small scorings that answer one question about a judge, under one limit on what they may cost."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial, wraps
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar

import click
from rich.progress import TaskID

from stepjudge.cli.bars import Bars
from stepjudge.cli.money import Usd
from stepjudge.cli.score import MAX_COST_USD, judge_settings, rubric_of
from stepjudge.client import JudgeClient, ScoreOptions
from stepjudge.contract import Estimate, Scorecard
from stepjudge.rubric import Rubric
from stepjudge.trace import Trace
from stepjudge.value import Value

P = ParamSpec("P")
R = TypeVar("R")

WORKERS = 8


@dataclass(frozen=True)
class Asking:
    """One scoring: some steps of a trace."""

    trace: Trace
    steps: str
    rubric: Rubric | str | None = None
    """The inquiry's own when null."""
    sample: int = 0
    fresh: bool = False
    made: bool = False
    """Whether the trace was made for the inquiry: nobody should label it."""


class Price(Value):
    """What an inquiry would take, before anything is spent."""

    scorings: int
    remembered_steps: int
    requests: int
    most_requests: int
    cost_usd: float | None
    """Null when a price is not known."""
    most_cost_usd: float | None

    def __str__(self) -> str:
        most = "" if self.most_requests == self.requests else f", at most {self.most_requests}"
        cost = (
            "at a price that is not known"
            if self.cost_usd is None or self.most_cost_usd is None
            else f"about ${self.cost_usd:.4f}, at most ${self.most_cost_usd:.4f}, without re-asks"
        )
        return (
            f"{self.scorings} scorings of which {self.remembered_steps} steps are remembered: "
            f"{self.requests} model requests{most}; {cost}"
        )


class Inquiry(Bars):
    """Asks several scorings at a time. Use it as a context manager: it shows how far it is, on a terminal."""

    def __init__(
        self, client: JudgeClient, *, judge: str | None, rubric: Rubric | str, max_cost: float | None, quiet: bool
    ) -> None:
        super().__init__(quiet=quiet)
        self._client = client
        self.judge = judge
        """Null: the default one of the service."""
        self._rubric = rubric
        self._purse = _Purse(max_cost)
        self.unpaid = 0
        """Scorings with answers that the budget did not allow."""

    @property
    def cost_usd(self) -> float | None:
        """What was spent so far; null when a price is not known."""
        return self._purse.spent

    def whole_rubric(self) -> Rubric:
        """The rubric that is asked under, as the service has it."""
        return self._client.rubric(self._rubric) if isinstance(self._rubric, str) else self._rubric

    def price(self, askings: Sequence[Asking]) -> Price:
        """What these would take. Spends nothing."""
        with ThreadPoolExecutor(WORKERS) as pool:
            found = list(pool.map(self._estimate, askings))
        costs, most = [each.cost_usd for each in found], [each.most_cost_usd for each in found]
        return Price(
            scorings=len(askings),
            remembered_steps=sum(each.cached_steps for each in found),
            requests=sum(each.requests for each in found),
            most_requests=sum(each.most_requests for each in found),
            cost_usd=None if None in costs else sum(cost or 0.0 for cost in costs),
            most_cost_usd=None if None in most else sum(cost or 0.0 for cost in most),
        )

    def scored(self, askings: Sequence[Asking], about: str) -> list[Scorecard]:
        """A scorecard for each, in their order. What the budget did not allow is undetermined, with that cause."""
        task = self._bars.add_task(about, total=len(askings))
        with ThreadPoolExecutor(WORKERS) as pool:
            cards = list(pool.map(partial(self._score, task=task), askings))
        # each of them was granted a share: what the others left may be enough now
        again = [place for place, card in enumerate(cards) if "budget" in card.causes]
        for place in again:
            cards[place] = self._score(askings[place], task=None, alone=True)
        self.unpaid += sum("budget" in card.causes for card in cards)
        return cards

    def _estimate(self, asking: Asking) -> Estimate:
        return self._client.estimate(asking.trace, **self._options(asking))

    def _score(self, asking: Asking, task: TaskID | None, *, alone: bool = False) -> Scorecard:
        granted = self._purse.grant(alone=alone)
        options: ScoreOptions = {**self._options(asking), "max_cost_usd": granted}
        card: Scorecard | None = None
        try:
            card = self._client.score(asking.trace, **options)
            return card
        finally:
            self._purse.settle(granted, card.cost_usd if card else 0.0)
            if task is not None:
                self._bars.advance(task)

    def _options(self, asking: Asking) -> ScoreOptions:
        options: ScoreOptions = {
            "rubric": self._rubric if asking.rubric is None else asking.rubric,
            "steps": asking.steps,
            "sample": asking.sample,
            "fresh": asking.fresh,
            "made": asking.made,
        }
        return {**options, "judge": self.judge} if self.judge is not None else options


class _Purse:
    """A limit in USD over scorings of several threads: what is granted to one is not granted to another."""

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self._granted: list[float] = []
        self._lock = threading.Lock()
        self.spent: float | None = 0.0

    def grant(self, *, alone: bool) -> float | None:
        with self._lock:
            if self._limit is None:
                return None
            left = max(0.0, self._limit - (self.spent or 0.0) - sum(self._granted))
            granted = left if alone else left / max(1, WORKERS - len(self._granted))
            self._granted.append(granted)
            return granted

    def settle(self, granted: float | None, cost: float | None) -> None:
        with self._lock:
            if granted is not None:
                self._granted.remove(granted)
            self.spent = None if cost is None or self.spent is None else self.spent + cost


def asks_judge(command: Callable[..., R]) -> Callable[..., R]:
    """Adds the options that say which judge is asked, under which rubric, for how much.

    The command is handed `inquiry`, which makes the Inquiry of a client, and `settings` for that client.
    """

    @click.option("--rubric", default="step", show_default=True, help="NAME, NAME@VERSION or a rubric FILE.yaml.")
    @click.option("--judge", envvar="STEPJUDGE_JUDGE", help="rules, a judge of the service, or a model.")
    @click.option("--api-base", help="Address of an OpenAI-compatible server that runs the model.")
    @click.option("--api-key-env", metavar="NAME", help="Environment variable that holds the key for --api-base.")
    @click.option("--temperature", type=float, help="Sampling temperature of the model. [default: 0]")
    @click.option(
        "--max-cost",
        type=Usd(),
        envvar="STEPJUDGE_MAX_COST_USD",
        default=MAX_COST_USD,
        show_default=True,
        help="Stop asking at this many USD.",
    )
    @click.option("--dry-run", is_flag=True, help="Say what it would take; spend nothing.")
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
    @wraps(command)
    def wrapped(
        rubric: str,
        judge: str | None,
        api_base: str | None,
        api_key_env: str | None,
        temperature: float | None,
        max_cost: float,
        as_json: bool,
        embedded: bool,
        **arguments: Any,
    ) -> R:
        needs_statistics()
        settings = judge_settings(embedded, api_base, api_key_env, temperature, None)

        def inquiry(client: JudgeClient) -> Inquiry:
            return Inquiry(client, judge=judge, rubric=rubric_of(rubric), max_cost=max_cost, quiet=as_json)

        return command(inquiry=inquiry, settings=settings, as_json=as_json, **arguments)

    return wrapped


def needs_statistics() -> None:
    """Say it before anything is paid, not after."""
    if missing := [name for name in ("numpy", "scipy") if find_spec(name) is None]:
        raise click.ClickException(f"intervals need {' and '.join(missing)}: pip install 'stepjudge[labels]'")
