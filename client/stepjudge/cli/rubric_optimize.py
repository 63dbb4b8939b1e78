"""`stepjudge rubric optimize`: search better words for the criteria, and claim only what unseen labels support."""

import json
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from stepjudge.cli.inquiry import Inquiry, needs_statistics
from stepjudge.cli.reflector import Reflector, reflector
from stepjudge.cli.service import asks_service
from stepjudge.cli.tuning_ground import Ground, all_paid, askings, asks_on_labels
from stepjudge.client import JudgeClient
from stepjudge.contract import Scorecard
from stepjudge.rubric import Rubric
from stepjudge.rubric_file import shipped
from stepjudge.rubric_folder import read_folders
from stepjudge.tuning.example import Example
from stepjudge.tuning.next_version import check_free, next_version, write_version
from stepjudge.tuning.optimizer import Found, Limits, OutOfBudget, search
from stepjudge.tuning.reflection import labelled_criteria
from stepjudge.tuning.rubric_comparison import RubricComparison, rubric_comparison
from stepjudge.tuning.rubric_test import Answers, answers_of
from stepjudge.tuning.split import Split, split


@click.command()
@click.argument("rubric")
@click.option("--reflector", "reflector_name", metavar="MODEL", required=True, help="The model that proposes words.")
@click.option("--criterion", "criteria", multiple=True, help="Only this criterion; may be given several times.")
@click.option(
    "--max-metric-calls",
    type=click.IntRange(min=1),
    default=300,
    show_default=True,
    help="Labelled steps judged while searching, remembered ones too.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**31), default=0, show_default=True, help="The same seed splits the same."
)
@click.option("--version", "version", metavar="X.Y.Z", help="Of the new rubric. [default: the second number, raised]")
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="The new file. [default: NAME-VERSION.yaml]"
)
@asks_service
@asks_on_labels
def optimize(
    rubric: str,
    reflector_name: str,
    criteria: tuple[str, ...],
    max_metric_calls: int,
    seed: int,
    version: str | None,
    output: Path | None,
    as_json: bool,
    ground: Ground,
    settings: dict[str, Any],
    client: Callable[..., JudgeClient],
) -> None:
    """Search better words for RUBRIC's criteria with GEPA (needs the extra `optimize`).

    The labelled tasks are split in three: proposals are made from the first part, the best is chosen by the second, and
    both rubrics are compared on the third, which the search never saw. Only when that comparison supports an improvement
    is a new version written; otherwise it says so and exits with 1. No file is written over, and no version reused.
    """
    needs_statistics()
    if find_spec("gepa") is None:
        raise click.ClickException("the search needs GEPA: pip install 'stepjudge[optimize]'")
    with client(**settings) as service, reflector(reflector_name, settings) as reflect:
        meant = ground.rubric(service, rubric)
        fresh = meant.model_copy(update={"version": version or next_version(meant.version)})
        path = output or Path(f"{fresh.name}-{fresh.version}.yaml")
        known = [*read_folders([shipped()], {}), meant, *_served(service, fresh)]
        check_free(fresh.reference, path, known)
        parts = split(ground.examples(service, meant).found, seed)
        chosen = _chosen(meant, labelled_criteria([*parts.train, *parts.select]), criteria)
        run = _Run(service, ground, meant, parts, reflect, quiet=as_json)
        found = run.search(chosen, max_metric_calls, version=fresh.version, seed=seed)
        compared = run.compared(found) if found.improved else None
        cost = run.cost_usd
    claimed = compared is not None and compared.whole.supported and (compared.whole.equal.difference or 0) > 0
    if claimed and compared is not None:
        about = [f"Proposed from {meant.reference} ({meant.digest}) by {reflector_name}.", _unseen(compared)]
        write_version(found.rubric, path, known, about)
    said = _conclusion(found, compared, path, claimed=claimed)
    if as_json:
        document = {
            "claimed": claimed,
            "conclusion": said,
            "file": str(path) if claimed else None,
            "rubric": found.rubric.model_dump(mode="json", exclude_defaults=True),
            "tasks": [len({each.task for each in part}) for part in parts],
            "steps": [len(part) for part in parts],
            "search": {name: getattr(found, name) for name in ("tried", "first", "best", "reflections", "refused")},
            "comparison": compared and compared.model_dump(mode="json"),
            "cost_usd": cost,
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        _print(said, found, parts, cost)
    if not claimed:
        sys.exit(1)


class _Run:
    """One search and its comparison, under one limit on cost. What the comparison needs is laid aside first."""

    def __init__(
        self, service: JudgeClient, ground: Ground, rubric: Rubric, parts: Split, reflect: Reflector, *, quiet: bool
    ) -> None:
        self._service = service
        self._quiet = quiet
        self._rubric = rubric
        self._parts = parts
        self._ground = ground
        self._reflect = reflect
        with ground.inquiry(service, rubric, quiet=True) as inquiry:
            price = inquiry.price(askings(parts.report, rubric))
            # the new words may be longer, and some replies are asked for again
            needed = 3 * (price.most_cost_usd or 0.0)
        if needed > ground.max_cost / 2:
            raise click.ClickException(
                f"the comparison at the end may cost ${needed:.4f}, more than half of --max-cost: raise it"
            )
        self._limit = ground.max_cost - needed
        self._searching = ground.inquiry(service, rubric, max_cost=self._limit, quiet=quiet)
        self._reported: float | None = 0.0

    @property
    def cost_usd(self) -> float | None:
        costs = [self._searching.cost_usd, self._reported, self._reflect.cost_usd]
        return None if None in costs else sum(cost or 0.0 for cost in costs)

    def search(self, criteria: Sequence[str], calls: int, *, version: str, seed: int) -> Found:
        with self._searching:
            limits = Limits(calls, self._spent)
            return search(
                self._rubric, criteria, self._parts, self._ask, self._reflect, limits, version=version, seed=seed
            )

    def compared(self, found: Found) -> RubricComparison:
        """Both rubrics on the split that the search never saw."""
        report = self._parts.report
        left = max(0.0, self._ground.max_cost - (self.cost_usd or 0.0))
        with self._ground.inquiry(self._service, self._rubric, max_cost=left, quiet=self._quiet) as inquiry:
            both = [self._scored(inquiry, rubric, report) for rubric in (self._rubric, found.rubric)]
            self._reported = inquiry.cost_usd
            all_paid(inquiry, [*both[0], *both[1]])
        first = both[0][0]
        answers = answers_of(report, both[0]), answers_of(report, both[1])
        return rubric_comparison((self._rubric, found.rubric), report, answers, (first.judge, first.judge_digest))

    def _ask(self, rubric: Rubric, batch: Sequence[Example]) -> Answers:
        if self._spent():
            raise OutOfBudget("the money for the search is spent")
        cards = self._scored(self._searching, rubric, batch)
        if any("budget" in card.causes for card in cards):
            raise OutOfBudget("the money for the search does not allow the next answers: raise --max-cost")
        return answers_of(batch, cards)

    def _scored(self, inquiry: Inquiry, rubric: Rubric, batch: Sequence[Example]) -> list[Scorecard]:
        return inquiry.scored(askings(batch, rubric), f"{len(batch)} labelled steps")

    def _spent(self) -> bool:
        return (self._searching.cost_usd or 0.0) + (self._reflect.cost_usd or 0.0) >= self._limit > 0


def _served(service: JudgeClient, fresh: Rubric) -> list[Rubric]:
    """The version that is to be written, if the service has one of that name."""
    references = {f"{each.name}@{each.version}" for each in service.rubrics()}
    return [service.rubric(fresh.reference)] if fresh.reference in references else []


def _chosen(rubric: Rubric, labelled: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    mine = [criterion.name for criterion in rubric.criteria if criterion.name in labelled]
    if missing := [name for name in wanted if name not in mine]:
        raise click.UsageError(f"--criterion: nobody labelled {missing[0]!r}; labelled are {', '.join(mine) or 'none'}")
    if not mine:
        raise click.ClickException("only the score was labelled: words are searched from answers to criteria")
    return tuple(name for name in mine if not wanted or name in wanted)


def _unseen(compared: RubricComparison) -> str:
    return f"On {compared.steps} labelled steps that the search never saw: {compared.words}"


def _conclusion(found: Found, compared: RubricComparison | None, path: Path, *, claimed: bool) -> str:
    if compared is None:
        return "no better words were found: none did better than the rubric as it is, where the best is chosen"
    if not claimed:
        return f"no improvement is claimed. {_unseen(compared)}"
    return f"{_unseen(compared)}. Written to {path}"


def _print(said: str, found: Found, parts: Split, cost: float | None) -> None:
    tasks = [len({each.task for each in part}) for part in parts]
    click.echo(
        f"{len(parts.train)} labelled steps of {tasks[0]} tasks to learn from, {len(parts.select)} of {tasks[1]} to "
        f"choose by, {len(parts.report)} of {tasks[2]} to report on"
    )
    click.echo(
        f"{found.tried} wordings judged, {found.reflections} reflections of which {found.refused} came to nothing; "
        f"answers as people gave them, where the best is chosen: {found.first:.1%} → {found.best:.1%}"
    )
    click.echo(said)
    click.echo(f"spent: {'at a price that is not known' if cost is None else f'${cost:.4f}'}")
