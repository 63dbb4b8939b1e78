"""Harbor: a verifier script that judges the agent's trajectory and writes the reward file: `python -m stepjudge.adapters.harbor`.

What cannot be scored leaves no reward file, which is an error of the verifier for Harbor: the trial counts in no metric.
A reward that lacks a key would do harm instead: where trials have several keys, Harbor counts a missing one as 0.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import click
from pydantic import FiniteFloat, TypeAdapter

from stepjudge.adapters.metric import StepMetric
from stepjudge.adapters.reading import SCORE_NAMES, Reading, ScoreName, StepReading, explained
from stepjudge.errors import NotScored, StepjudgeError
from stepjudge.grouping import Grouping
from stepjudge.value import JsonObject

TRAJECTORY = Path("/logs/agent/trajectory.json")
VERIFIER = Path("/logs/verifier")

_SCORE = click.Choice(SCORE_NAMES)
_REWARD = TypeAdapter[float](FiniteFloat)
_REWARDS = TypeAdapter[dict[str, float] | float](dict[str, FiniteFloat] | FiniteFloat)
_FILE = click.Path(path_type=Path)


class _Verifier(click.Command):
    """A command that leaves no reward behind when its options are mistaken, as when anything else fails."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            _without_reward(_output(given), error.format_message(), {})
            raise


@click.command(cls=_Verifier)
@click.option(
    "--trajectory", type=_FILE, default=TRAJECTORY, show_default=True, help="ATIF, or any format that is read."
)
@click.option("--output", type=_FILE, default=VERIFIER, show_default=True, help="Folder of the reward files.")
@click.option("--score", type=_SCORE, default="step_level", show_default=True, help="Which score is the reward.")
@click.option("--also", type=_SCORE, multiple=True, help="A further score, under its own name. Repeatable.")
@click.option("--beside", is_flag=True, help="Keep the rewards that are there already; the score goes by its own name.")
@click.option("--rubric", default="step", show_default=True, help="Name, name@version, or a rubric file.")
@click.option("--judge", help="A judge of the service, or a model where it allows any.")
@click.option("--steps", help="Range of steps to score, such as 1-5.")
@click.option("--group", type=click.Choice(get_args(Grouping)), default="none", help="What is scored as one step.")
@click.option("--max-cost-usd", type=float, help="What judging may cost.")
@click.option("--timeout", "timeout_s", type=float, default=600.0, show_default=True, help="Seconds.")
@click.option("--url", help="Of the service; STEPJUDGE_URL otherwise, or else one in this process.")
def main(
    trajectory: Path, output: Path, score: ScoreName, also: tuple[ScoreName, ...], beside: bool, **options: Any
) -> None:
    """Judge the steps of a trial and write reward.json and reward-details.json."""
    output.mkdir(parents=True, exist_ok=True)
    before: Mapping[str, float] = {}
    try:
        before = rewards(output) if beside else {}
        _without_reward(output, "the verifier was stopped before it had scored", before)
        names = (score if beside else "reward", *also)
        _no_clash(names, before)
        reading = StepMetric(score=score, **options).score(trajectory)
        values = dict(zip(names, (_value(reading, each) for each in (score, *also)), strict=True))
    except Exception as error:
        _without_reward(output, str(error), before)
        if not isinstance(error, StepjudgeError | ValueError):
            raise
        click.echo(f"not scored: {error}", err=True)
        sys.exit(1)
    _write(output / "stepjudge.json", reading.metadata())
    _write(output / "reward-details.json", {score: details(reading)})
    _write(output / "reward.json", {**before, **values})
    click.echo(reading.explanation)


def rewards(folder: Path) -> Mapping[str, float]:
    """The rewards that a verifier has written so far, as Harbor reads them. Raises ValueError for what is no number."""
    if (folder / "reward.json").exists():
        try:
            written = _REWARDS.validate_json((folder / "reward.json").read_bytes())
        except ValueError as error:
            raise ValueError(f"reward.json holds no finite numbers: {error}") from error
        return written if isinstance(written, dict) else {"reward": written}
    if (folder / "reward.txt").exists():
        try:
            return {"reward": _REWARD.validate_python((folder / "reward.txt").read_text().strip())}
        except ValueError as error:
            raise ValueError(f"reward.txt holds no finite number: {error}") from error
    return {}


def details(reading: Reading) -> JsonObject:
    """The steps as Harbor's viewer shows criteria. What is undetermined has no value there, so it is a warning."""
    known = [step for step in reading.steps if step.passes is not None]
    return {
        "kind": "programmatic",
        "score": reading.value,
        "criteria": [_criterion(step) for step in known],
        "warnings": ["\n".join(explained(step)) for step in reading.steps if step.passes is None],
    }


def _criterion(step: StepReading) -> JsonObject:
    title, *why = explained(step)
    reasons = why or [f"{each.criterion}: {each.answer}: {each.reason}" for each in step.findings]
    return {
        "name": title,
        "value": float(bool(step.passes)),
        "raw": step.score,
        "weight": 1.0,
        "reasoning": "\n".join(reasons),
    }


def _value(reading: Reading, name: ScoreName) -> float:
    value = reading.scores[name]
    if value is None:
        raise NotScored("nothing_to_score", f"{name} has nothing to count in this trial")
    return value


def _without_reward(folder: Path, why: str, before: Mapping[str, float]) -> None:
    """What was there must not pass for the whole. The reason is written first: the reward before is kept in it."""
    if folder.is_dir():
        _write(folder / "stepjudge.json", {"not_scored": why, "rewards": dict(before)})
        for name in ("reward.json", "reward.txt"):
            (folder / name).unlink(missing_ok=True)


def _no_clash(names: Sequence[str], before: Mapping[str, float]) -> None:
    for name in names:
        if name in before:
            raise ValueError(f"{name}: a reward of this name is there already, and --beside replaces none; rename it")


def _output(arguments: Sequence[str]) -> Path:
    """The folder of the rewards, from arguments that cannot be parsed as a whole."""
    for each, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, equals, value = each.partition("=")
        if name == "--output" and (value or following):
            return Path(value if equals else following)
    return VERIFIER


def _write(file: Path, document: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(document, indent=2, allow_nan=False))


if __name__ == "__main__":
    main()
