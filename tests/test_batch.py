"""Scoring in batches over a real provider: what is sent, what a kill loses, and what comes of lines that fail."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stepjudge.bulk import Bulk, Tally
from stepjudge.cli.bulk import in_batches
from stepjudge.client import AsyncJudgeClient
from stepjudge.contract import Scorecard
from stepjudge.errors import JudgeRefused

from fakes.batches import Fate
from fakes.faults import NO_JSON_SCHEMA, NOT_JSON, SERVER_ERROR, Fault, first_of_each
from fakes.provider import Provider, Request
from scripted import always
from serving import serving

PRICES = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}


def _file(path: Path, traces: int, steps: int = 2) -> Path:
    lines = [
        {
            "messages": [
                {"role": "user", "content": f"Question {number}?"},
                *({"role": "assistant", "content": f"Part {part} of answer {number}."} for part in range(steps)),
            ]
        }
        for number in range(traces)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _judges(provider: Provider, **more: Any) -> dict[str, Any]:
    model = {"model": "openai/fake", "api_base": provider.base_url, **PRICES}
    return {"judge": "fake", "judges": {"fake": model, **more}, "max_cost_usd": None}


async def _run(file: Path, output: Path, data_dir: Path, settings: dict[str, Any]) -> Tally:
    async with AsyncJudgeClient.embedded(data_dir=data_dir, **settings) as client:
        return await in_batches(Bulk(client, [file], output, {"batch": True}))


def _cards(output: Path) -> list[Scorecard]:
    return [
        Scorecard.model_validate(json.loads(line)["value"]["scorecard"]) for line in output.read_text().splitlines()
    ]


async def test_a_batch_fills_ledger_and_cache_as_live_requests_would_at_half_the_price(tmp_path: Path) -> None:
    file, output = _file(tmp_path / "a.jsonl", 3), tmp_path / "out.jsonl"
    with Provider(always("yes")) as provider, Provider(always("yes")) as live:
        settings = _judges(provider)
        first = await _run(file, output, tmp_path / "data", settings)
        assert (first.waiting, first.done, provider.count) == (3, 0, 0)
        second = await _run(file, output, tmp_path / "data", settings)
        third = await _run(file, output, tmp_path / "data", settings)
        async with AsyncJudgeClient.embedded(data_dir=tmp_path / "data", **settings) as client:
            remembered = [await client.score(json.loads(line)) for line in file.read_text().splitlines()]
            audit = await client.audit(remembered[0].steps[0].verdict_id)
        assert (provider.count, len(provider.desk.batches)) == (6, 1)
        async with AsyncJudgeClient.embedded(data_dir=tmp_path / "live", **_judges(live)) as client:
            asked = await client.score(json.loads(file.read_text().splitlines()[0]))

    assert (second.done, second.waiting, second.undetermined, third.kept) == (3, 0, 0, 3)
    assert {card.cached_steps for card in remembered} == {2}
    assert audit.prompt_matches
    (first_card,) = [card for card in _cards(output) if card.trace_id == asked.trace_id]
    assert [step.details for step in first_card.steps] == [step.details for step in asked.steps]
    assert first_card.cost_usd == pytest.approx(
        (asked.cost_usd or 0.0) / 2, rel=0.02
    )  # the fake's cached tokens differ


async def test_a_malformed_reply_is_objected_to_in_the_next_batch(tmp_path: Path) -> None:
    file, output = _file(tmp_path / "a.jsonl", 2, steps=1), tmp_path / "out.jsonl"
    with Provider(always("yes"), faults=lambda request: NOT_JSON if len(request.messages) == 2 else None) as provider:
        tallies = [await _run(file, output, tmp_path / "data", _judges(provider)) for _ in range(3)]
        assert [(tally.waiting, tally.done) for tally in tallies] == [(2, 0), (2, 0), (0, 2)]
        assert provider.count == 4
    assert [(card.undetermined, card.requests) for card in _cards(output)] == [(0, 2), (0, 2)]


@pytest.mark.parametrize(
    "fates",
    [[Fate("expired", answered=1)], [Fate("failed")], [Fate(silent=2)]],
    ids=["expired", "failed", "lost lines"],
)
async def test_lines_that_no_batch_answered_go_with_the_next_and_others_are_not_paid_again(
    tmp_path: Path, fates: Sequence[Fate]
) -> None:
    file, output = _file(tmp_path / "a.jsonl", 3, steps=1), tmp_path / "out.jsonl"
    with Provider(always("yes"), fates=fates) as provider:
        tallies = [await _run(file, output, tmp_path / "data", _judges(provider)) for _ in range(3)]
        lines = [provider.desk.files[batch["input_file_id"]].count(b"\n") for batch in provider.desk.batches]
    assert tallies[-1].waiting == tallies[-1].undetermined == 0
    assert lines == [3, {"expired": 2, "failed": 3, "completed": 2}[fates[0].status]]
    assert len(_cards(output)) == 3


async def test_a_line_that_met_an_error_of_the_server_is_sent_again(tmp_path: Path) -> None:
    file = _file(tmp_path / "a.jsonl", 2, steps=1)
    with Provider(always("yes"), faults=first_of_each(1, SERVER_ERROR)) as provider:
        tallies = [await _run(file, tmp_path / "o.jsonl", tmp_path / "data", _judges(provider)) for _ in range(3)]
    assert [tally.waiting for tally in tallies] == [2, 2, 0]
    assert tallies[-1].undetermined == 0


async def test_a_question_that_no_batch_answers_fails_in_the_end_and_can_be_asked_anew(tmp_path: Path) -> None:
    file, output = _file(tmp_path / "a.jsonl", 1, steps=1), tmp_path / "out.jsonl"
    with Provider(always("yes"), fates=[Fate("failed")] * 3) as provider:
        tallies = [await _run(file, output, tmp_path / "data", _judges(provider)) for _ in range(6)]
    assert [tally.waiting for tally in tallies] == [1, 1, 1, 0, 1, 0]
    failed, answered = _cards(output)
    assert (failed.causes, answered.undetermined) == ({"provider": failed.undetermined}, 0)
    reasons = {answer.reason for answer in failed.steps[0].details if answer.cause == "provider"}
    assert reasons == {"no batch answered the question: failed; The file is no good."}


async def test_what_a_provider_does_not_take_is_left_out_of_the_next_batch(tmp_path: Path) -> None:
    file, output = _file(tmp_path / "a.jsonl", 1, steps=1), tmp_path / "out.jsonl"

    def refused(request: Request) -> Fault | None:
        return NO_JSON_SCHEMA if "response_format" in request.body else None

    with Provider(always("yes"), faults=refused) as provider:
        tallies = [await _run(file, output, tmp_path / "data", _judges(provider)) for _ in range(3)]
    assert [tally.waiting for tally in tallies] == [1, 1, 0]
    assert _cards(output)[0].undetermined == 0


async def test_a_batch_whose_sending_broke_off_is_found_again_and_not_paid_twice(tmp_path: Path) -> None:
    file, output = _file(tmp_path / "a.jsonl", 2), tmp_path / "out.jsonl"
    with Provider(always("yes")) as provider:
        provider.desk.unanswered = 9  # however often it is asked, the provider takes the batch and says nothing
        with pytest.raises(JudgeRefused, match="provider of batches failed"):
            await _run(file, output, tmp_path / "data", _judges(provider))
        taken = len(provider.desk.batches)
        provider.desk.unanswered = 0
        tally = await _run(file, output, tmp_path / "data", _judges(provider))
        assert (tally.done, tally.undetermined) == (2, 0)
        assert (taken, len(provider.desk.batches), provider.count) == (1, 1, 4)


async def test_questions_that_no_provider_got_are_sent_anew(tmp_path: Path) -> None:
    file, output = _file(tmp_path / "a.jsonl", 2), tmp_path / "out.jsonl"
    with Provider(always("yes")) as gone:
        port = int(gone.base_url.split(":")[2].split("/")[0])
        async with AsyncJudgeClient.embedded(data_dir=tmp_path / "data", **_judges(gone)) as client:
            await Bulk(client, [file], output, {"batch": True}).run()
    settings = _judges(gone)
    with pytest.raises(JudgeRefused):
        await _run(file, output, tmp_path / "data", settings)
    with Provider(always("yes"), port=port) as back:
        tallies = [await _run(file, output, tmp_path / "data", settings) for _ in range(2)]
        assert ([tally.waiting for tally in tallies], back.count) == ([2, 0], 4)


async def test_members_of_courts_wait_too_and_samples_are_asked_apart(tmp_path: Path) -> None:
    file, output = _file(tmp_path / "a.jsonl", 1, steps=1), tmp_path / "out.jsonl"

    def split(request: Request) -> Any:
        return always("no" if request.model == "doubting" else "yes")(request)

    with Provider(split) as provider:
        at = {"api_base": provider.base_url, "temperature": 1.0, **PRICES}
        judges: dict[str, Any] = {
            "doubting": {"model": "openai/doubting", **at},
            "jury": {"kind": "jury", "members": ["fake"], "samples": 2},
            "steps": {"kind": "cascade", "first": ["doubting"], "then": "fake"},
        }
        settings = _judges(provider, **judges)
        jury = [await _run(file, output, tmp_path / "jury", {**settings, "judge": "jury"}) for _ in range(2)]
        assert ([tally.waiting for tally in jury], provider.count) == ([1, 0], 2)
        other = tmp_path / "steps.jsonl"
        steps = [await _run(file, other, tmp_path / "steps", {**settings, "judge": "steps"}) for _ in range(3)]
        models = Counter(request.model for request in provider.requests)
    assert [tally.waiting for tally in steps] == [1, 1, 0], "the second tier is asked once the first has said no"
    assert models == {"fake": 3, "doubting": 1}
    assert [card.undetermined for card in (*_cards(output), *_cards(other))] == [0, 0]


async def test_the_cost_limit_holds_for_what_is_sent(tmp_path: Path) -> None:
    file, output = _file(tmp_path / "a.jsonl", 20, steps=1), tmp_path / "out.jsonl"
    with Provider(always("yes")) as provider:
        cheap = {"model": "openai/fake", "api_base": provider.base_url, **PRICES, "output_cost_per_token": 1e-9}
        settings = _judges(provider, fake=cheap)
        async with AsyncJudgeClient.embedded(data_dir=tmp_path / "data", **settings) as client:
            one = (await client.estimate(json.loads(file.read_text().splitlines()[0]), batch=True)).cost_usd or 0.0
            bulk = Bulk(client, [file], output, {"batch": True}, max_cost_usd=5.5 * one)
            await in_batches(bulk)
            waiting = await client.batches()
    assert 1 <= waiting.under_way <= 6


async def test_a_service_over_http_sends_and_collects(tmp_path: Path) -> None:
    file, output = _file(tmp_path / "a.jsonl", 2), tmp_path / "out.jsonl"
    with Provider(always("yes")) as provider, serving(tmp_path / "data", batch_questions=3, **_judges(provider)) as url:
        provider.desk.held = True
        async with AsyncJudgeClient(url) as client:
            tally = await in_batches(Bulk(client, [file], output, {"batch": True}))
            held = await client.collect_batches()
            provider.desk.held = False
            again = await in_batches(Bulk(client, [file], output, {"batch": True}))
            ended = await client.batches()
    assert (tally.waiting, again.done) == (2, 2)
    assert (held.open, held.under_way, [batch.questions for batch in held.batches]) == (0, 4, [1, 3])
    assert [(batch.state, batch.told) for batch in held.batches] == [("sent", "in_progress")] * 2
    assert [(batch.state, batch.told) for batch in ended.batches] == [("done", "completed")] * 2


def test_litellm_carries_batches_too(tmp_path: Path) -> None:
    file, output = _file(tmp_path / "a.jsonl", 1, steps=1), tmp_path / "out.jsonl"
    with Provider(always("yes")) as provider:
        judge = {"model": "openai/fake", "api_base": provider.base_url, "via": "litellm", **PRICES}
        environ = {**os.environ, "STEPJUDGE_DATA_DIR": str(tmp_path / "data"), "STEPJUDGE_JUDGE": "fake"}
        environ["STEPJUDGE_JUDGES"] = json.dumps({"fake": judge})
        command = [sys.executable, "-c", "from stepjudge.cli.main import main; main()", "score", str(file)]
        command += ["--output", str(output), "--batch"]
        # a process of its own: litellm leaves connections open, and says so
        codes = [subprocess.run(command, env=environ, capture_output=True, check=False).returncode for _ in range(2)]
        assert (codes, provider.count, len(provider.desk.batches)) == ([75, 0], 1, 1)
    assert [card.undetermined for card in _cards(output)] == [0]


def test_a_killed_command_goes_on_and_pays_nothing_twice(tmp_path: Path) -> None:
    file, output = _file(tmp_path / "a.jsonl", 3), tmp_path / "out.jsonl"
    with Provider(always("yes")) as provider:
        environ = {
            **os.environ,
            "STEPJUDGE_DATA_DIR": str(tmp_path / "data"),
            "STEPJUDGE_API_BASE": provider.base_url,
            "STEPJUDGE_JUDGE": "openai/fake",
        }
        command = [sys.executable, "-c", "from stepjudge.cli.main import main; main()", "score", str(file)]
        command += ["--output", str(output), "--batch"]
        provider.desk.held = True
        process = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE)
        provider.wait_until(lambda: len(provider.desk.batches) == 1, timeout=120)
        process.kill()  # whether or not it has heard of its batch
        process.communicate()
        waits = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        provider.desk.held = False
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert (len(provider.desk.batches), provider.count) == (1, 6)
    assert waits.returncode == 75, waits.stderr
    assert "3 traces wait for a batch" in waits.stderr
    assert done.returncode == 0, done.stderr
    assert [card.undetermined for card in _cards(output)] == [0, 0, 0]
