"""What the tuning commands have in common: labels from files or from the ledger, the steps they are about, the judge."""

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click

from stepjudge.cli.inquiry import Asking, Inquiry
from stepjudge.cli.money import Usd
from stepjudge.cli.score import MAX_COST_USD, judge_settings, rubric_of, traces_of
from stepjudge.client import JudgeClient
from stepjudge.contract import Scorecard
from stepjudge.label import Label
from stepjudge.label_file import read_labels
from stepjudge.rubric import Rubric
from stepjudge.tuning.example import Example, Examples, by_trace, examples

P = ParamSpec("P")
R = TypeVar("R")


class Ground:
    """The options of a command, as it uses them."""

    def __init__(
        self,
        labels: Sequence[Path],
        traces: tuple[Path, ...],
        steps: str | None,
        every: bool,
        judge: str | None,
        max_cost: float,
    ) -> None:
        self._labels = labels
        self._traces = traces
        self._steps = steps
        self.every = every
        self.judge = judge
        self.max_cost = max_cost

    def rubric(self, service: JudgeClient, wanted: str) -> Rubric:
        """A file's, or the service's of that name. Raises BadRubric, JudgeRefused."""
        meant = rubric_of(wanted)
        return service.rubric(meant) if isinstance(meant, str) else meant

    def examples(self, service: JudgeClient, rubric: Rubric) -> Examples:
        """The labelled steps. Raises NoExamples."""
        labels: Sequence[Label] = (
            [label for path in self._labels for label in read_labels(path)]
            if self._labels
            else service.all_labels(rubric=rubric.name)
        )
        traces = traces_of(self._traces, None)
        return examples(service, rubric, labels, traces, steps=self._steps, every=self.every)

    def inquiry(self, service: JudgeClient, rubric: Rubric, *, max_cost: float | None = None, quiet: bool) -> Inquiry:
        limit = self.max_cost if max_cost is None else max_cost
        return Inquiry(service, judge=self.judge, rubric=rubric, max_cost=limit, quiet=quiet)


def askings(found: Sequence[Example], rubric: Rubric) -> list[Asking]:
    """One for each trace, about its labelled steps, in the order of `by_trace`."""
    return [Asking(mine[0].trace, ",".join(str(each.step) for each in mine), rubric=rubric) for mine in by_trace(found)]


def all_paid(inquiry: Inquiry, cards: Sequence[Scorecard]) -> None:
    """Raises ClickException when the budget did not allow every answer: what is missing is not the rubric's fault."""
    if any("budget" in card.causes for card in cards):
        raise click.ClickException(
            f"the budget did not allow all answers ({_dollars(inquiry.cost_usd)} spent): raise --max-cost. "
            "What was answered is remembered, and is not paid for again"
        )


def asks_on_labels(command: Callable[..., R]) -> Callable[..., R]:
    """Adds the options of labels and judge; hands the command the `ground`, and `settings` for the client."""

    @click.option(
        "--labels",
        multiple=True,
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="File of labels, JSONL or CSV; may be given several times. [default: those in the ledger]",
    )
    @click.option(
        "--traces",
        multiple=True,
        type=click.Path(path_type=Path, exists=True),
        help="Traces that the labelled steps stand in; may be given several times. [default: the ledger's]",
    )
    @click.option("--steps", metavar="RANGE", help="Only labelled steps in this range of their trace, such as 1-5.")
    @click.option("--every", is_flag=True, help="Take labels too that were not blind, or of unknown probability.")
    @click.option("--judge", envvar="STEPJUDGE_JUDGE", help="rules, a judge of the service, or a model.")
    @click.option("--api-base", help="Address of an OpenAI-compatible server that runs the model.")
    @click.option("--api-key-env", metavar="NAME", help="Environment variable that holds the key for --api-base.")
    @click.option(
        "--max-cost",
        type=Usd(),
        envvar="STEPJUDGE_MAX_COST_USD",
        default=MAX_COST_USD,
        show_default=True,
        help="Stop asking at this many USD.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
    @wraps(command)
    def wrapped(
        labels: tuple[Path, ...],
        traces: tuple[Path, ...],
        steps: str | None,
        every: bool,
        judge: str | None,
        api_base: str | None,
        api_key_env: str | None,
        max_cost: float,
        embedded: bool,
        **arguments: Any,
    ) -> R:
        settings = judge_settings(embedded, api_base, api_key_env, None, None)
        return command(ground=Ground(labels, traces, steps, every, judge, max_cost), settings=settings, **arguments)

    return wrapped


def _dollars(usd: float | None) -> str:
    return "an unknown amount" if usd is None else f"${usd:.4f}"
