"""An assertion holds a trace's steps to a score, and says which steps fell short; the judge's silence is no failure of theirs.

It works in any test, and with pytest's options and summary where the plugin is loaded. Nothing heavy is imported until used.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

if TYPE_CHECKING:
    from stepjudge.adapters.metric import MetricOptions
    from stepjudge.adapters.reading import Reading
    from stepjudge.client import Document

WhenNotScored = Literal["fail", "skip"]
Outcome = Literal["passed", "failed", "not scored"]


@dataclass(frozen=True)
class Setup:
    """What a test runner says for all assertions; an assertion's own keywords come first."""

    options: "MetricOptions" = field(default_factory=dict[str, Any])  # pyright: ignore[reportAssignmentType]
    when_not_scored: WhenNotScored = "fail"
    report: Callable[[Outcome, str], None] = lambda _outcome, _line: None
    """Called with each assertion's outcome and one line about it."""


setup = Setup()
"""Of this process. The pytest plugin puts its own in this place."""


def assert_steps(
    trace: "Document | Path | str",
    *,
    at_least: float,
    when_not_scored: WhenNotScored | None = None,
    **options: "Unpack[MetricOptions]",
) -> "Reading":
    """Assert that a score of the trace's steps is at least so high, in 0..1; `step_level` unless `score` names another.

    trace: a Trace, the JSON of one in any format that is read, or the path of a file that holds one.
    options: `rubric`, `judge`, `score`, `url` and the others of MetricOptions.

    Undetermined units decide nothing: the assertion holds, or fails, when it would whatever they are. Where they could
    turn it, it is not scored, unless their share is within `max_undetermined` (default 0); the rate of the others then
    decides. Not scored raises NotScored, or skips the test with `when_not_scored="skip"`. Otherwise AssertionError says
    which steps fell short, with answer, reason and evidence.
    """
    __tracebackhide__ = True
    from stepjudge.adapters.metric import StepMetric
    from stepjudge.errors import NotScored

    if not 0 <= at_least <= 1:
        raise ValueError(f"at_least is {at_least!r}: a score is a share, from 0 to 1")
    allowed = options.pop("max_undetermined", setup.options.get("max_undetermined", 0.0))
    metric = StepMetric(**{**_of_the_runner(options), **options})
    try:
        reading = metric.score(Path(trace) if isinstance(trace, str) else trace)
        holds = _holds(reading, at_least, allowed)
    except NotScored as error:
        setup.report("not scored", str(error))
        if (when_not_scored or setup.when_not_scored) == "skip":
            _skip(f"not scored: {error}")
        raise
    line = f"{reading.trace_id}: {reading.summary[0]}, at least {at_least:g}"
    setup.report("passed" if holds else "failed", line)
    if not holds:
        raise AssertionError(f"{reading.headline} is below {at_least:g}\n{reading.explanation}")
    return reading


def _of_the_runner(options: "MetricOptions") -> "MetricOptions":
    """The runner's options as far as the assertion's own let them stand: settings of an embedded service mean one."""
    inside = options.get("data_dir") is not None or options.get("settings")
    kept: Any = {name: value for name, value in setup.options.items() if not (inside and name == "url")}
    return kept


def _holds(reading: "Reading", at_least: float, allowed: float) -> bool:
    """Whether the score is high enough. Raises NotScored where undetermined units could turn the answer."""
    from stepjudge.errors import NotScored

    rate = reading.rates[reading.headline]
    units = rate.denominator + rate.undetermined
    lowest, highest = rate.numerator / units, (rate.numerator + rate.undetermined) / units
    if lowest >= at_least or highest < at_least:
        return lowest >= at_least
    if reading.share_undetermined > allowed:
        raise NotScored(
            "undetermined",
            f"{reading.headline} lies between {lowest:.3f} and {highest:.3f}, on either side of {at_least:g}: "
            f"{rate.undetermined} of {units} are undetermined, more than the allowed share of {allowed:g}\n"
            f"{reading.explanation}",
            reading.metadata(),
        )
    return rate.numerator / rate.denominator >= at_least


def _skip(reason: str) -> None:
    """As the running test framework does it: pytest takes unittest's exception too."""
    __tracebackhide__ = True
    from unittest import SkipTest

    raise SkipTest(reason)
