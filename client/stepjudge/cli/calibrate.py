"""`stepjudge calibrate`: what labels make of a judge: a corrected rate, or a probability beside each verdict."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import click
from pydantic import JsonValue, TypeAdapter, ValidationError

from stepjudge.calibration import (
    CalibratedReading,
    Calibration,
    Quality,
    calibrated,
    raw_reading,
)
from stepjudge.contract import Scorecard
from stepjudge.errors import StepjudgeError
from stepjudge.label_file import read_labels
from stepjudge.labelled_draw import beyond
from stepjudge.labelled_steps import (
    LabelledStep,
    Met,
    distinct,
    drawn_class,
    joined,
    labels_digest,
    met,
    people_class,
    sample,
    step_features,
)
from stepjudge.rubric import Rubric

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
MAX_BYTES = 256 * 2**20


class BadScorecards(StepjudgeError):
    """The file holds no scorecard: what was found, and what to give."""


@click.group()
def calibrate() -> None:
    """Learn from labels: correct a rate, or put a probability beside each verdict."""


@calibrate.command()
@click.argument("labels", type=_FILE)
@click.argument("scorecards", type=_FILE, nargs=-1, required=True)
@click.option("--reading", type=click.Choice(["score", "passes", "bad"]), default="score", show_default=True)
@click.option("--rubric", help="NAME@VERSION or FILE.yaml. [default: that of the scorecards]")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="Where to write it.")
def fit(labels: Path, scorecards: tuple[Path, ...], reading: str, rubric: str | None, output: Path) -> None:
    """Fit a calibration to LABELS (JSON Lines or CSV) of the steps in SCORECARDS (what `score --json` printed)."""
    from stepjudge.calibration_fit import About, Example
    from stepjudge.calibration_fit import fit as fitted

    which = cast("CalibratedReading", reading)  # one of the choices
    cards, steps, how = _joined(labels, scorecards, rubric)
    examples = [
        Example(each.task, each.step.index, step_features(each), said, raw_reading(which, each.step), fair is not None)
        for each in distinct(steps)
        for fair in [drawn_class(each, which)]
        if (said := fair or people_class(each, which)) is not None
    ]
    first = cards[0]
    about = About(
        f"{first.rubric.name}@{first.rubric.version}",
        first.rubric.digest,
        first.judge,
        first.judge_digest,
        labels_digest(steps),
    )
    made = fitted(examples, which, about)
    output.write_text(json.dumps(made.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    _print_validation(made)
    _print_met(how)
    click.echo(f"written: {output}")


@calibrate.command()
@click.argument("calibration", type=_FILE)
@click.argument("scorecards", type=_FILE, nargs=-1, required=True)
@click.option("--outcome", type=click.Choice(["pass", "fail"]), help="Of the trial's checks, for a single-answer task.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def apply(calibration: Path, scorecards: tuple[Path, ...], outcome: str | None, as_json: bool) -> None:
    """Print what CALIBRATION makes of each step of SCORECARDS, beside the verdict."""
    made, cards = _calibration(calibration), [card for path in scorecards for card in _cards(path)]
    known = None if outcome is None else float(outcome == "pass")
    found = {card.trace_id: calibrated(made, card, outcome=known) for card in cards}
    if as_json:
        whole: dict[str, JsonValue] = {
            trace: [each.model_dump(mode="json") for each in steps] for trace, steps in found.items()
        }
        click.echo(json.dumps({"reading": made.reading, "traces": whole}, indent=2))
        return
    for trace, steps in found.items():
        click.echo(f"{trace}: {made.reading}, {made.judge} under {made.rubric}")
        for each in steps:
            odds = "  ".join(f"{name}: {chance:.2f}" for name, chance in each.probabilities.items())
            note = "  (the outcome decides)" if each.decided_by_outcome else ""
            click.echo(f"  step {each.step:>3}  verdict {each.raw or '–':>3}  calibrated {odds}{note}")
    _print_validation(made)


@calibrate.command()
@click.argument("labels", type=_FILE)
@click.argument("scorecards", type=_FILE, nargs=-1, required=True)
@click.option("--reading", type=click.Choice(["score", "passes", "bad"]), default="bad", show_default=True)
@click.option("--target", type=click.Choice(["this run", "new tasks"]), default="this run", show_default=True)
@click.option("--rubric", help="NAME@VERSION or FILE.yaml. [default: that of the scorecards]")
@click.option("--traces-by-lot", is_flag=True, help="Traces were labelled whole, and drawn by lot from SCORECARDS.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def correct(
    labels: Path,
    scorecards: tuple[Path, ...],
    reading: str,
    target: str,
    rubric: str | None,
    traces_by_lot: bool,
    as_json: bool,
) -> None:
    """The rate over SCORECARDS with the judge's errors taken out, by LABELS of steps drawn at random."""
    from stepjudge.correction import Target, corrected

    _, steps, how = _joined(labels, scorecards, rubric)
    made, whole, left_out = sample(steps, cast("CalibratedReading", reading), traces_by_lot=traces_by_lot)
    larger = beyond([label.sampling for each in steps for label in each.drawn_labels], len(made))
    found = corrected(
        made,
        target=cast("Target", target),
        quantity="mean" if reading == "score" else "share",
        drawing="whole traces" if whole else "steps",
    )
    if as_json:
        click.echo(
            json.dumps(
                {**found.model_dump(mode="json"), "left_out": left_out, "drawn_from": larger, **how._asdict()}, indent=2
            )
        )
        return
    click.echo(f"{reading}: {found}")
    for note in found.notes:
        click.echo(f"note: {note}")
    if left_out:
        click.echo(
            f"left out: {left_out} labelled steps, not blind, of unknown sampling probability, or not to be told"
        )
    if larger:
        click.echo(
            f"note: labels were drawn from {larger:,} steps, and the scorecards have {len(made):,} that differ: right if "
            "all of these were among them"
        )
    _print_met(how)


def _joined(
    labels: Path, files: Sequence[Path], rubric: str | None
) -> tuple[list[Scorecard], tuple[LabelledStep, ...], Met]:
    cards = [card for path in files for card in _cards(path)]
    given = _rubric(rubric or (f"{cards[0].rubric.name}@{cards[0].rubric.version}" if cards else "step"))
    told = tuple(read_labels(labels))
    steps = joined(given, cards, told)
    return cards, steps, met(given, steps, told)


def _print_met(how: Met) -> None:
    if how.other_wording:
        click.echo(f"note: {how.other_wording} of these labels were given for another version of the rubric")
    if how.unmet:
        click.echo(
            f"note: {how.unmet} labels met no step of the scorecards: they are of other steps, or of the same after other "
            "steps; scorecards of an older version name no digests, so score again (verdicts are remembered)"
        )
    if how.other_rubric:
        click.echo(f"note: {how.other_rubric} labels are for another rubric, and left aside")


def _rubric(reference: str) -> Rubric:
    from stepjudge.rubric_file import read_rubric_file, shipped
    from stepjudge.rubric_folder import find, published, read_folders

    path = Path(reference)
    if path.suffix in (".yaml", ".yml"):
        return read_rubric_file(path)
    try:
        return find(read_folders([shipped()], published(shipped())), reference)
    except LookupError as error:
        raise click.UsageError(f"{error.args[0]}; give the file of your own with --rubric FILE.yaml") from None


def _cards(path: Path) -> list[Scorecard]:
    text = _text(path)
    try:
        document: JsonValue = json.loads(text)
        many = document.get("scorecards") if isinstance(document, dict) else document
        return TypeAdapter(list[Scorecard]).validate_python(many if isinstance(many, list) else [document])
    except (ValueError, RecursionError) as error:
        raise BadScorecards(
            f"{path}: no scorecards, as `stepjudge score --json` prints them: {_first(error)}"
        ) from None


def _calibration(path: Path) -> Calibration:
    try:
        return Calibration.model_validate_json(_text(path))
    except ValidationError as error:
        raise BadScorecards(
            f"{path}: no calibration, as `stepjudge calibrate fit` writes it: {_first(error)}"
        ) from None


def _text(path: Path) -> str:
    with path.open("rb") as file:
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise BadScorecards(f"{path}: longer than {MAX_BYTES:,} bytes: split it")
    return raw.decode("utf-8", "replace")


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        detail = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, detail['loc'])) or 'the whole'}: {detail['msg']}"
    return str(error)[:200]


def _print_validation(made: Calibration) -> None:
    found = made.validation
    click.echo(f"{made.steps} labelled steps of {made.tasks} tasks, each task predicted without its own labels:")
    if found.measured is not None and found.measured < made.steps:
        click.echo(
            f"  measured on the {found.measured} labelled blind and drawn with known probability; the other "
            f"{made.steps - found.measured} were only learned from"
        )
    rows = {
        "verdicts, as they are": found.raw,
        "calibrated": found.calibrated,
        "control: the step's number alone": found.control,
        "always the most frequent label": found.always,
    }
    for name, quality in rows.items():
        click.echo(f"  {name:<34} {_spelled(quality)}")
    if not found.helps:
        click.echo("  it does not help: keep the verdicts, or label more")


def _spelled(quality: Quality) -> str:
    kappa = "–" if quality.kappa is None else f"{quality.kappa:.2f}"
    loss = "" if quality.log_loss is None else f", log-loss {quality.log_loss:.3f}"
    return f"accuracy {quality.accuracy:.1%}, kappa {kappa}{loss}"
