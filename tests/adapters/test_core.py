"""The shared core: what a metric says from any thread and event loop, and what it does not call a score."""

import asyncio
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import SecretStr

from stepjudge.adapters.metric import StepMetric
from stepjudge.adapters.reading import SCORE_NAMES, Reading
from stepjudge.adapters.secret_options import refuse_secrets
from stepjudge.adapters.shared_client import close_clients, shared
from stepjudge.client import AsyncJudgeClient, JudgeClient
from stepjudge.errors import NotScored
from stepjudge.formats import read_document

from judged import EXAMPLES, SMALL, Judged, documents, judged, samples


def test_a_reading_says_the_same_as_the_scorecard(service: Judged) -> None:
    found = StepMetric(url=service.url).score(documents()["pytest-5262"])
    with JudgeClient(service.url) as client:
        card = client.score(documents()["pytest-5262"])

    assert found.value == found.scores["step_level"] == card.scores.step_level.value == 7 / 8
    assert found.numerators == {name: getattr(card.scores, name).numerator for name in SCORE_NAMES}
    assert found.denominators == {name: getattr(card.scores, name).denominator for name in SCORE_NAMES}
    assert (found.recoveries, found.answers, found.scored_steps) == (
        len(card.recoveries),
        card.answers,
        len(card.steps),
    )
    assert [step.findings for step in found.steps] == [step.details for step in card.steps]
    assert (found.judge, found.rubric, found.provisional) == ("openai/scripted", "step@1.0.0", True)


def test_the_explanation_names_each_step_that_fell_short_with_answer_reason_and_quote(service: Judged) -> None:
    text = StepMetric(url=service.url).score(SMALL).explanation
    assert text.splitlines()[0] == (
        "step_level 0.667 (2/3), tool_call_precision 0.500 (1/2), argument_accuracy 1.000 (2/2), "
        "recovery_rate 1.000 (1/1)"
    )
    assert text.splitlines()[1] == (
        "steps 1-3 of 3; rubric step@1.0.0; judge openai/scripted "
        "(provisional: the judge is not validated against human labels)"
    )
    assert text.splitlines()[3:] == [
        "step 2 (weather): does not pass",
        "  useful (call 1): no: scripted: step 2 brought nothing that was needed — s2.c1.tool: “weather”",
    ]


def test_a_reading_is_json_and_comes_back(service: Judged) -> None:
    found = StepMetric(url=service.url).score(documents()["museum"])
    written = json.loads(json.dumps(found.metadata()))

    assert (written["value"], written["scores"]["recovery_rate"]) == (0.5, None)
    assert Reading.model_validate({name: written[name] for name in Reading.model_fields}) == found


def test_characters_that_would_deceive_a_reader_are_spelled_out(tmp_path: Path) -> None:
    def hostile(_step: int, _unit: str, criterion: str) -> Mapping[str, Any] | str:
        if criterion == "recovery":
            return "not_applicable"
        return {"answer": "no", "reason": "fine\x1b[2K\u202e"}

    with judged(tmp_path, answers=hostile) as service:
        text = StepMetric(url=service.url).score(SMALL).explanation
    assert "fine⟨U+001B⟩[2K⟨U+202E⟩" in text


@pytest.mark.parametrize("headline", SCORE_NAMES)
def test_any_score_can_be_the_headline(service: Judged, headline: Any) -> None:
    found = StepMetric(url=service.url, score=headline).score(SMALL)
    assert found.value == found.scores[headline]
    assert found.summary[0].startswith(headline)


def test_a_trace_may_come_in_any_form(service: Judged) -> None:
    metric = StepMetric(url=service.url)
    path = EXAMPLES / "museum" / "trace.json"
    document = json.loads(path.read_text())
    [trace] = read_document(document)
    assert metric.score(path).steps == metric.score(document).steps == metric.score(trace).steps


def test_threads_and_event_loops_share_one_client(service: Judged) -> None:
    metric = pickle.loads(pickle.dumps(StepMetric(url=service.url)))  # noqa: S301 - as hosts send metrics to workers
    everything = list(documents().values()) * 4
    close_clients()  # those of other tests' services

    async def at_once() -> list[float | None]:
        return [found.value for found in await anyio.gather(*(metric.ascore(each) for each in everything))]

    with ThreadPoolExecutor(12) as pool:
        by_threads = [found.value for found in pool.map(metric.score, everything)]
        by_loops = [each.result() for each in [pool.submit(asyncio.run, at_once()) for _ in range(3)]]

    assert by_loops == [by_threads] * 3
    assert by_threads == [7 / 8, 3 / 6, 2 / 3] * 4
    assert sum(thread.name == "stepjudge" for thread in threading.enumerate()) == 1


def test_the_first_who_asks_makes_the_client_and_the_others_get_the_same(service: Judged) -> None:
    made: list[AsyncJudgeClient] = []

    def make() -> AsyncJudgeClient:
        made.append(AsyncJudgeClient(service.url))
        return made[-1]

    with ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(shared, ("a test", service.url), make) for _ in range(24)]
        assert len({each.result() for each in asked}) == len(made) == 1


async def test_a_blocking_score_works_inside_a_running_event_loop(service: Judged) -> None:
    assert StepMetric(url=service.url).score(SMALL).value == 2 / 3


def test_equal_samples_share_verdicts_and_the_service_keeps_its_limit(tmp_path: Path) -> None:
    with judged(tmp_path, latency=0.02, concurrency=4) as service:
        metric = StepMetric(url=service.url)

        async def at_once() -> list[float | None]:
            return [found.value for found in await anyio.gather(*(metric.ascore(each) for each in samples(100)))]

        assert anyio.run(at_once) == [1.0] * 100
        assert (service.provider.count, service.provider.in_flight_peak) == (50, 4)
        assert anyio.run(at_once) == [1.0] * 100
        assert service.provider.count == 50, "the second run is free"


@pytest.mark.parametrize("embedded", [False, True])
async def test_a_cancelled_caller_stops_the_judge(tmp_path: Path, embedded: bool) -> None:
    with judged(tmp_path / "service", latency=60.0) as service:
        inside: dict[str, Any] = {"judge": "openai/scripted", "settings": {"api_base": service.provider.base_url}}
        options: Any = {"data_dir": tmp_path / "here", **inside} if embedded else {"url": service.url}
        metric = StepMetric(**options)
        async with anyio.create_task_group() as group:
            group.start_soon(metric.ascore, SMALL)
            await anyio.to_thread.run_sync(partial(service.provider.wait_until, timeout=30.0), in_flight(service))
            group.cancel_scope.cancel()
        await anyio.to_thread.run_sync(service.provider.wait_until, lambda: service.provider.in_flight == 0)
        assert service.provider.disconnects > 0


def in_flight(service: Judged) -> Callable[[], bool]:
    return lambda: service.provider.in_flight > 0


@pytest.mark.parametrize(
    ("options", "document", "reason", "says"),
    [
        ({"url": "http://127.0.0.1:9"}, SMALL, "unreachable", "no answer from http://127.0.0.1:9"),
        ({"rubric": "nope"}, SMALL, "refused", "nope"),
        ({"judge": "nobody"}, SMALL, "refused", "nobody"),
        ({"steps": "7-9"}, SMALL, "refused", "1-3"),
        ({}, {"what": 1}, "unreadable", "no format known here"),
        ({}, EXAMPLES / "museum" / "nothing.json", "unreadable", "cannot be opened"),
        ({"judge": "rules"}, SMALL, "undetermined", "step_level is undetermined for every step (3): judge rules"),
        ({"score": "recovery_rate", "steps": "1"}, SMALL, "nothing_to_score", "hold no setback"),
        ({"score": "tool_call_precision"}, samples(1)[0], "nothing_to_score", "hold no call"),
    ],
)
async def test_what_gives_no_score_says_why(
    service: Judged, options: dict[str, Any], document: Any, reason: str, says: str
) -> None:
    chosen: Any = {"url": service.url, **options}
    metric = StepMetric(**chosen)
    for ask in (metric.ascore, anyio_sync(metric)):
        with pytest.raises(NotScored) as caught:
            await ask(document)
        assert (caught.value.reason, says in str(caught.value)) == (reason, True), str(caught.value)


def anyio_sync(metric: StepMetric) -> Any:
    async def ask(document: Any) -> Reading:
        return metric.score(document)

    return ask


def test_one_failure_of_the_provider_is_no_score_and_what_is_known_comes_along(without_judge: Judged) -> None:
    with pytest.raises(NotScored, match=r"the judge failed \(provider\)") as caught:
        StepMetric(url=without_judge.url).score(documents()["museum"])
    assert caught.value.reason == "judge_failed"
    assert caught.value.metadata["value"] == 0.0, "three steps that facts settled as bad would pass for the reading"
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - as hosts send errors from workers
    assert (again.reason, str(again), again.metadata) == ("judge_failed", str(caught.value), caught.value.metadata)


def test_a_share_of_undetermined_units_may_be_too_much_for_a_score(tmp_path: Path) -> None:
    def unsure(step: int, _unit: str, criterion: str) -> str:
        return "not_applicable" if criterion == "recovery" else "undetermined" if step == 2 else "yes"

    with judged(tmp_path, answers=unsure) as service:
        assert StepMetric(url=service.url, max_undetermined=0.34).score(SMALL).value == 1.0
        with pytest.raises(NotScored, match="undetermined for 1 of 3 units"):
            StepMetric(url=service.url, max_undetermined=0.33).score(SMALL)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rubrik": "step"}, "no option 'rubrik'"),
        ({"score": "accuracy"}, "no score 'accuracy'"),
        ({"group": "all"}, "no grouping 'all'"),
        ({"max_undetermined": 1.5}, "a share, from 0 to 1"),
        ({"url": "http://127.0.0.1:9", "data_dir": "here"}, "only for the embedded service"),
        ({"rubric": None}, "rubric is of type NoneType"),
        ({"rubric": 5}, "rubric is of type int"),
        ({"score": None}, "no score None"),
        ({"max_cost_usd": -1}, "max_cost_usd is -1"),
        ({"max_cost_usd": float("nan")}, "max_cost_usd is nan"),
        ({"max_cost_usd": "5"}, "max_cost_usd is of type str"),
        ({"max_undetermined": None}, "max_undetermined is of type NoneType"),
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"timeout_s": None}, "timeout_s is of type NoneType"),
        ({"steps": 3}, "steps is of type int"),
        ({"settings": ["a"]}, "settings is of type list"),
        ({"api_key": "SECRET\x00KEY"}, "api_key: the key of the service holds"),
    ],
)
def test_a_mistake_in_the_options_is_told_at_once(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        StepMetric(**options)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": "SECRET"},
        {"url": "http://user:SECRET@127.0.0.1:9"},
        {"settings": {"api_key": "SECRET"}},
        {"settings": {"cache_url": "redis://:SECRET@127.0.0.1"}},
        {"settings": {"judges": {"a": {"api_key": SecretStr("SECRET")}}}},
        {"settings": {"judges": [{"extra_headers": {"X-Token": "SECRET"}}]}},
    ],
)
def test_a_host_that_writes_options_down_gets_no_secret(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="the log would keep it") as caught:
        refuse_secrets(options, "the log")
    assert "SECRET" not in str(caught.value)


def test_options_without_secrets_may_be_written_down() -> None:
    refuse_secrets({"url": "http://127.0.0.1:9/a@b", "settings": {"max_tokens": 5, "api_key": None}}, "the log")


@pytest.mark.parametrize("embedded", [False, True])
def test_the_time_limit_is_for_the_whole_trace(tmp_path: Path, embedded: bool) -> None:
    with judged(tmp_path / "service", latency=60.0) as service:
        inside: dict[str, Any] = {"judge": "openai/scripted", "settings": {"api_base": service.provider.base_url}}
        options: Any = {"data_dir": tmp_path / "here", **inside} if embedded else {"url": service.url}
        with pytest.raises(NotScored, match=r"no scorecard within 3 seconds|ReadTimeout") as caught:
            StepMetric(timeout_s=3, **options).score(SMALL)
        assert caught.value.reason == "unreachable"
        service.provider.wait_until(lambda: service.provider.in_flight == 0)


FORKED = """
import os, sys
from pathlib import Path
from stepjudge.adapters.metric import StepMetric

metric = StepMetric(judge="rules")
museum = Path(sys.argv[1])
assert metric.score(museum).value == 0.25
child = os.fork()
assert metric.score(museum).cached_steps == 6
if child:
    assert os.waitpid(child, 0)[1] == 0
    assert metric.score(museum).cached_steps == 6
print("done", flush=True)
"""


@pytest.mark.parametrize("embedded", [False, True])
def test_a_forked_process_gets_a_client_of_its_own_and_both_end_cleanly(
    service: Judged, tmp_path: Path, embedded: bool
) -> None:
    address = {"STEPJUDGE_DATA_DIR": str(tmp_path / "data")} if embedded else {"STEPJUDGE_URL": service.url}
    done = subprocess.run(
        [sys.executable, "-c", FORKED, EXAMPLES / "museum" / "trace.json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"HOME": str(tmp_path), **address},
    )
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["done", "done"], "")
