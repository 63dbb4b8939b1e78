"""A plot is a set of numbers that the page's chart library draws; the same numbers stand beside it as a table."""

from dataclasses import dataclass

from pydantic import JsonValue

from judge_service.diary import Diary
from judge_service.pages import words
from stepjudge.agreement import Figure
from stepjudge.interval import Interval
from stepjudge.labelled import LabelledVerdicts
from stepjudge.rubric import Rubric

MOST_DAYS = 90
"""The newest."""


@dataclass(frozen=True)
class Plot:
    name: str
    """How it is drawn: `forest` or `days`."""
    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    drawn: JsonValue


def forest(found: LabelledVerdicts) -> Plot | None:
    """Kappa and raw agreement of every reading, with their intervals."""
    readings = [each for each in found.readings if each.agreement.labelled]
    if not readings:
        return None
    return Plot(
        "forest",
        "Agreement with people",
        "A dot is the value, a bar its 95% interval, tasks drawn again. Kappa is beyond chance: 0 is no better than chance.",
        ("question", "kappa", "95% interval", "raw", "95% interval", "equal / labelled", "answered"),
        tuple(
            (
                each.reading,
                number(each.agreement.kappa.value),
                ends(each.agreement.kappa.interval),
                words.percent(each.agreement.raw.value),
                ends(each.agreement.raw.interval, percent=True),
                f"{each.agreement.matches}/{each.agreement.labelled}",
                f"{each.agreement.answered}",
            )
            for each in readings
        ),
        {
            "labels": [each.reading for each in readings],
            "series": [
                {"label": "kappa", "tone": "accent", "points": [_point(each.agreement.kappa) for each in readings]},
                {"label": "raw", "tone": "dim", "points": [_point(each.agreement.raw) for each in readings]},
            ],
        },
    )


def days(diary: Diary, rubric: Rubric) -> Plot | None:
    """How often each criterion was answered yes, day by day."""
    names = sorted(diary.days)[-MOST_DAYS:]
    criteria = [each.name for each in rubric.criteria]
    if not names:
        return None
    shares = {name: [diary.days[day].share(name) for day in names] for name in criteria}
    open_ = [_share(diary.days[day].undetermined, diary.days[day].given) for day in names]
    return Plot(
        "days",
        "Answers over time",
        "Yes among yes and no, by day (UTC). A move may be the agent's or the judge's: what is repeated, below, tells.",
        ("day", "verdicts", *criteria, "undetermined"),
        tuple(
            (
                day,
                f"{diary.days[day].verdicts:,}",
                *(words.percent(shares[name][at], 0) for name in criteria),
                words.percent(open_[at], 0),
            )
            for at, day in enumerate(names)
        ),
        {
            "labels": [*names],
            "series": [
                *({"label": name, "values": [*_hundredfold(shares[name])]} for name in criteria),
                {"label": "undetermined", "values": [*_hundredfold(open_)]},
            ],
            "unit": "%",
        },
    )


def costs(diary: Diary) -> Plot | None:
    """What each day cost."""
    names = sorted(diary.days)[-MOST_DAYS:]
    if not any(diary.days[day].cost_usd for day in names):
        return None
    return Plot(
        "costs",
        "Cost",
        "Of the judge's own calls, by day (UTC).",
        ("day", "verdicts", "cost", "per verdict", "of unknown price"),
        tuple(
            (
                day,
                f"{each.verdicts:,}",
                words.usd(each.cost_usd),
                words.usd(each.cost_usd / max(1, each.verdicts - each.unpriced)),
                f"{each.unpriced:,}",
            )
            for day in names
            for each in (diary.days[day],)
        ),
        {
            "labels": [*names],
            "series": [{"label": "USD", "values": [diary.days[day].cost_usd for day in names]}],
            "unit": "$",
        },
    )


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def ends(interval: Interval | None, *, percent: bool = False) -> str:
    if interval is None:
        return "none"
    if percent:
        return f"{interval.low:.0%} to {interval.high:.0%}"
    return f"{interval.low:.2f} to {interval.high:.2f}"


def _point(figure: Figure) -> JsonValue:
    around = figure.interval
    return {"at": figure.value, "low": around.low if around else None, "high": around.high if around else None}


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _hundredfold(values: list[float | None]) -> list[float | None]:
    return [None if value is None else round(100 * value, 2) for value in values]
