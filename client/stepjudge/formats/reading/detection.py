"""Detection finds the format that a document is written in, from the document alone."""

from pydantic import JsonValue

from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading.format import Fit, Format
from stepjudge.formats.reading.registry import formats, named

_HOW = "name the right one with --format (`format=` in Python)"


def choose(views: list[JsonValue], name: str | None) -> tuple[Format, int]:
    """The format, and which of the views of the document it reads. Of views that fit equally well the first wins."""
    candidates = (named(name),) if name is not None else formats()
    fits = {each.name: [each.detect(view) for view in views] for each in candidates}
    best = {each.name: max(fits[each.name], key=lambda fit: fit.strength) for each in candidates}
    strongest = max((fit.strength for fit in best.values()), default=0)
    winners = [each for each in candidates if best[each.name].strength == strongest]
    if name is None and not any(fit.fits for fit in best.values()):
        raise UnreadableTrace(_unknown(best, views[0]))
    if len(winners) > 1:
        names = " and ".join(each.name for each in winners)
        raise UnreadableTrace(f"the document fits {names} equally well: {_HOW}")
    winner = winners[0]
    return winner, fits[winner.name].index(best[winner.name])


def _unknown(best: dict[str, Fit], document: JsonValue) -> str:
    near = [f"{name}: {fit.why}" for name, fit in best.items() if fit.level == "near"]
    miss = f"nearest miss: {'; '.join(near)}" if near else f"none comes near {_shape(document)}"
    return f"the document is in no format known here (tried {', '.join(best)}); {miss}. If it is one of these, {_HOW}"


def _shape(document: JsonValue) -> str:
    match document:
        case dict():
            keys = ", ".join(list(document)[:8])
            return f"an object with the keys {keys}" if keys else "an empty object"
        case list():
            first = _shape(document[0]) if document else ""
            return f"a list of {first}" if first else "an empty list"
        case _:
            return f"a bare {type(document).__name__}"
