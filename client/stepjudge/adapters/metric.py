"""A step metric is a configured question to the judge: a host's trace goes in, and a reading comes out."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Unpack, cast

from pydantic import SecretStr, ValidationError

from stepjudge.adapters.metric_options import MetricOptions, option_faults
from stepjudge.adapters.reading import Reading, ScoreName, reading
from stepjudge.adapters.shared_client import ashared, shared
from stepjudge.client import AsyncJudgeClient, Document, ScoreOptions
from stepjudge.contract import Scorecard
from stepjudge.errors import JudgeRefused, JudgeUnreachable, NotScored, UnreadableTrace
from stepjudge.formats import read_file
from stepjudge.grouping import Grouping
from stepjudge.judge_failure import judge_failure
from stepjudge.rubric import Rubric
from stepjudge.rubric_file import read_rubric_file
from stepjudge.trace import Trace

_RUBRIC_FILES = (".yaml", ".yml")
_UNREADABLE = "Unreadable trace"
_UNIT = {
    "step_level": "step",
    "tool_call_precision": "call",
    "argument_accuracy": "call to a right tool",
    "recovery_rate": "setback",
}


class StepMetric:
    """Asks a judge service for readings. See MetricOptions for what it is configured with.

    It holds no connection and no event loop, so it may be copied, pickled, and used from any thread or loop.
    """

    def __init__(self, **options: Unpack[MetricOptions]) -> None:
        for complaint in option_faults(options):
            raise ValueError(complaint)
        self.headline: ScoreName = options.get("score", "step_level")
        self.group: Grouping = options.get("group", "none")
        self.rubric = _rubric(options.get("rubric", "step"))
        self.judge = options.get("judge")
        self.steps = options.get("steps")
        self.max_cost_usd = options.get("max_cost_usd")
        self.max_undetermined = options.get("max_undetermined", 1.0)
        self.trace_format = options.get("trace_format")
        self._url = options.get("url")
        self._api_key = options.get("api_key")
        self._timeout_s = options.get("timeout_s", 3_600.0)
        self._settings = _settings(options)
        if self._url and self._settings:
            names = ", ".join(sorted(self._settings))
            raise ValueError(f"{names}: only for the embedded service; the one at `url` has settings of its own")

    def score(self, document: Document | Path) -> Reading:
        """The reading of one trace. Raises NotScored where there is no headline score. Blocks; safe in any thread."""
        try:
            return self._read(
                shared(*self._service()).score(_document(document), self._timeout_s, **self._options(document))
            )
        except (JudgeUnreachable, JudgeRefused, UnreadableTrace, ValidationError) as error:
            raise _not_scored(error) from error

    async def ascore(self, document: Document | Path) -> Reading:
        """The same for any event loop, asyncio or trio. A cancelled caller takes its request back."""
        try:
            client = await ashared(*self._service())
            return self._read(await client.ascore(_document(document), self._timeout_s, **self._options(document)))
        except (JudgeUnreachable, JudgeRefused, UnreadableTrace, ValidationError) as error:
            raise _not_scored(error) from error

    def _service(self) -> tuple[tuple[object, ...], Callable[[], AsyncJudgeClient]]:
        url = self._url or (None if self._settings else os.environ.get("STEPJUDGE_URL"))
        if url:
            key = os.environ.get("STEPJUDGE_CLIENT_KEY") if self._api_key is None else self._api_key
            return (url, key, self._timeout_s), partial(AsyncJudgeClient, url, api_key=key, timeout_s=self._timeout_s)
        settings = tuple(sorted((name, _told_apart(value)) for name, value in self._settings.items()))
        return ("embedded", settings), partial(AsyncJudgeClient.embedded, **self._settings)

    def _options(self, document: Document | Path) -> ScoreOptions:
        options: ScoreOptions = {"rubric": self.rubric, "steps": self.steps, "group": self.group}
        if self.judge is not None:
            options["judge"] = self.judge
        if self.max_cost_usd is not None:
            options["max_cost_usd"] = self.max_cost_usd
        if self.trace_format is not None and not isinstance(document, Trace | Path):
            options["format"] = self.trace_format
        return options

    def _read(self, card: Scorecard) -> Reading:
        found = reading(card, self.headline)
        failure = judge_failure(card)
        if failure is not None:
            raise NotScored("judge_failed", failure, found.metadata())
        if found.value is None:
            raise _without_value(found)
        if found.share_undetermined > self.max_undetermined:
            raise _too_open(found, self.max_undetermined)
        return found


def _settings(options: MetricOptions) -> dict[str, Any]:
    folder = options.get("data_dir")
    return {**(options.get("settings") or {}), **({} if folder is None else {"data_dir": Path(folder)})}


def _told_apart(value: object) -> str:
    """A setting's value as text. Two secrets look the same otherwise, and would share a client."""
    if isinstance(value, SecretStr):
        return repr(value.get_secret_value())
    if isinstance(value, Mapping):
        inner = cast("Mapping[object, object]", value)  # the check does not say of what
        return repr({key: _told_apart(each) for key, each in inner.items()})
    return repr(value)


def _rubric(rubric: str | Path | Rubric) -> str | Rubric:
    if isinstance(rubric, Path) or (isinstance(rubric, str) and rubric.endswith(_RUBRIC_FILES)):
        return read_rubric_file(Path(rubric))
    return rubric


def _document(document: Document | Path) -> Document:
    if not isinstance(document, Path):
        return document
    traces = list(read_file(document))
    if len(traces) != 1:
        raise UnreadableTrace(f"{document}: holds {len(traces)} traces: score them one by one")
    return traces[0]


def _without_value(found: Reading) -> NotScored:
    unit = _UNIT[found.headline]
    undetermined = found.rates[found.headline].undetermined
    if undetermined:
        message = f"{found.headline} is undetermined for every {unit} ({undetermined}): {_causes(found)}"
        return NotScored("undetermined", message, found.metadata())
    message = f"{found.headline} has nothing to count: steps {found.range} of the trace hold no {unit}"
    return NotScored("nothing_to_score", message, found.metadata())


def _too_open(found: Reading, allowed: float) -> NotScored:
    rate, unit = found.rates[found.headline], _UNIT[found.headline]
    units = rate.denominator + rate.undetermined
    message = f"{found.headline} is undetermined for {rate.undetermined} of {units} units ({unit}), more than the "
    return NotScored("undetermined", f"{message}allowed share of {allowed:g}: {_causes(found)}", found.metadata())


def _causes(found: Reading) -> str:
    causes = ", ".join(f"{count} {cause}" for cause, count in found.causes.items())
    hint = "; the offline rules cannot know more: name a judge that is a model" if found.judge == "rules" else ""
    return f"judge {found.judge}, {causes}{hint}"


def _not_scored(error: Exception) -> NotScored:
    match error:
        case JudgeUnreachable():
            return NotScored("unreachable", str(error))
        case JudgeRefused() if error.problem.title != _UNREADABLE:
            return NotScored("refused", str(error))
        case _:
            return NotScored("unreadable", str(error))
