"""A metric's options are what every adapter may be told; a mistake in them is told when the metric is made."""

import math
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypedDict, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from stepjudge.adapters.reading import SCORE_NAMES, ScoreName
from stepjudge.address import service_key
from stepjudge.errors import JudgeUnreachable
from stepjudge.grouping import Grouping
from stepjudge.rubric import Rubric


class MetricOptions(TypedDict, total=False):
    """What may be said of a metric. Every adapter takes these keywords."""

    rubric: str | Path | Rubric
    """`name`, `name@version`, the path of a rubric file, or a Rubric. Default: `step`."""
    judge: str | None
    """Name of a judge of the service, or a model such as `openai/gpt-5.2` where it allows any; its default when null."""
    score: ScoreName
    """The headline. Default: `step_level`."""
    url: str | None
    """Of the service; `STEPJUDGE_URL` when null; without either an embedded service in this process."""
    api_key: str | None
    """Of the service; `STEPJUDGE_CLIENT_KEY` when null, none when empty."""
    steps: str | None
    """Range of steps to score, such as `1-5`."""
    group: Grouping
    max_cost_usd: float | None
    """What one trace may cost."""
    max_undetermined: float
    """Share, in 0..1, of the headline's units that may be undetermined for it still to be a score. Default: 1."""
    trace_format: str | None
    """Format of the traces; detected when null."""
    timeout_s: float
    """Seconds that scoring one trace may take, whatever service is asked; then it counts as unreachable."""
    data_dir: str | Path | None
    """Folder of the embedded service's cache and ledger."""
    settings: Mapping[str, Any] | None
    """Further settings of the embedded service, such as `api_base`."""


def option_faults(options: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the options, each complaint with the option's name in it. Secrets are not quoted."""
    unknown = sorted(options.keys() - MetricOptions.__annotations__.keys())
    if unknown:
        yield f"no option {unknown[0]!r}: choose of {', '.join(MetricOptions.__annotations__)}"
    if options.get("score", "step_level") not in SCORE_NAMES:
        yield f"no score {options['score']!r}: choose one of {', '.join(SCORE_NAMES)}"
    if options.get("group", "none") not in get_args(Grouping):
        yield f"no grouping {options['group']!r}: choose one of {', '.join(get_args(Grouping))}"
    for name, value in options.items():
        try:
            _types()[name].validate_python(value, strict=True)
        except ValidationError as error:
            wants = " or ".join(dict.fromkeys(each["msg"] for each in error.errors(include_input=False)))
            yield f"{name} is of type {type(value).__name__}: {wants}"
    yield from _out_of_range(options)


def _out_of_range(options: Mapping[str, Any]) -> Iterator[str]:
    if not 0 <= options.get("max_undetermined", 1.0) <= 1:
        yield f"max_undetermined is {options['max_undetermined']!r}: it is a share, from 0 to 1"
    cost = options.get("max_cost_usd")
    if cost is not None and not 0 <= cost < math.inf:
        yield f"max_cost_usd is {cost!r}: write an amount of dollars, from 0, or None for the service's own limit"
    if not 0 < options.get("timeout_s", 1.0) < math.inf:
        yield f"timeout_s is {options['timeout_s']!r}: write a number of seconds above 0"
    try:
        service_key(options.get("api_key"))
    except JudgeUnreachable as error:
        yield f"api_key: {error}"


@cache
def _types() -> dict[str, TypeAdapter[Any]]:
    hints = get_type_hints(MetricOptions)
    return {name: TypeAdapter(hint) for name, hint in hints.items()}
