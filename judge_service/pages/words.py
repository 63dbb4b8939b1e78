"""Words are how pages spell numbers, times, money and digests."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode


def usd(value: float | None) -> str:
    """Money; four digits below a dollar, because a step costs less than a cent."""
    if value is None:
        return "unknown"
    return "$0" if value == 0 else f"${value:,.2f}" if value >= 1 else f"${value:.4f}"


def seconds(value: float | None) -> str:
    if value is None:
        return "unknown"
    if value < 1:
        return f"{1_000 * value:.0f} ms"
    return f"{value:.1f} s" if value < 60 else f"{value / 60:.1f} min"


def size(characters: int) -> str:
    """So many characters."""
    if characters < 10_000:
        return f"{characters:,} characters"
    return (
        f"{characters / 1_000:,.0f} thousand characters"
        if characters < 1_000_000
        else f"{characters / 1e6:.1f} million characters"
    )


def time(text: str) -> str:
    """RFC 3339 in UTC, to the minute."""
    return f"{text[:10]} {text[11:16]}" if len(text) >= 16 else text


def short(digest: str) -> str:
    """The beginning of a digest: enough to tell it from others."""
    return digest.removeprefix("sha256:")[:12]


def plural(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def percent(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}%}"


def answer(word: str) -> str:
    return word.replace("_", " ")


def query(values: Mapping[str, Any] | None = None, **more: Any) -> str:
    """`?a=1&b=2` of what is not empty; or nothing."""
    given = {**(values or {}), **more}
    kept = {name: value for name, value in given.items() if value not in (None, "", False)}
    return f"?{urlencode(kept, errors='replace')}" if kept else ""


FILTERS: dict[str, Callable[..., str]] = {
    "answer": answer,
    "cut": cut,
    "percent": percent,
    "plural": plural,
    "seconds": seconds,
    "short": short,
    "size": size,
    "time": time,
    "usd": usd,
}
