"""Bad and extreme traces, through the whole embedded service: each works, or fails with a message that helps."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepjudge.client import JudgeClient
from stepjudge.contract import Scorecard
from stepjudge.errors import JudgeRefused, UnreadableTrace
from stepjudge.formats import read_bytes, read_file

from fakes.provider import Provider
from scripted import always


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider(always("yes"), record=False) as provider:
        yield provider


@pytest.fixture(scope="module")
def client(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeClient]:
    folder = tmp_path_factory.mktemp("data")
    with JudgeClient.embedded(data_dir=folder, judge="openai/fake", api_base=provider.base_url) as client:
        yield client


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Find it."}, *messages], **more}


def call(arguments: str = '{"q": "x"}', call_id: str = "c1", name: str = "search") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(content: Any, call_id: str = "c1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def both(client: JudgeClient, document: Any) -> tuple[Scorecard, Scorecard]:
    """By the rules and by a model."""
    return client.score(document, judge="rules"), client.score(document)


@pytest.mark.parametrize("document", [{"messages": []}, chat(), {"trace_id": "t", "steps": []}, [], {}])
def test_a_trace_without_steps_is_refused_and_says_so(client: JudgeClient, document: Any) -> None:
    with pytest.raises(JudgeRefused) as refused:
        client.score(document)
    assert refused.value.problem.status == 422
    assert any(word in str(refused.value) for word in ("no steps", "list is empty", "no format"))


def test_a_call_without_a_result_is_missing_and_not_empty(client: JudgeClient) -> None:
    for card in both(client, chat(calling(call()))):
        assert not [answer for answer in card.steps[0].details if answer.rule == "empty_result"]
        assert "missing_result" in {fact.name for fact in card.steps[0].facts}


@pytest.mark.parametrize("arguments", ["{q: x}", "", "null", "[1]", '{"q": NaN}', "{" * 5_000, '"' * 3, "\x00"])
def test_arguments_that_are_no_json_object_are_kept_as_they_are(client: JudgeClient, arguments: str) -> None:
    for card in both(client, chat(calling(call(arguments)), result("error: bad arguments"))):
        summary = card.steps[0].calls[0]
        assert summary.arguments_raw == arguments or summary.arguments in (None, {})


def test_an_observation_of_ten_megabytes_is_cut_and_the_cut_is_listed(client: JudgeClient) -> None:
    started = time.monotonic()
    offline, judged = both(client, chat(calling(call()), result("needle " * 1_500_000)))

    assert offline.steps[0].cuts == ()
    assert [(cut.place, cut.length) for cut in judged.steps[0].cuts] == [("s1.c1.result", 10_500_000)]
    assert judged.undetermined == 0
    assert time.monotonic() - started < 120, "no pattern blows up"


def test_two_thousand_steps_are_all_scored(client: JudgeClient) -> None:
    messages = [
        message
        for number in range(2_000)
        for message in (calling(call(json.dumps({"q": number}))), result(f"page {number}: nothing new here"))
    ]
    card = client.score(chat(*messages), judge="rules")
    assert [step.index for step in card.steps] == list(range(1, 2_001))
    assert client.score(chat(*messages), judge="rules").cached_steps == 2_000


@pytest.mark.parametrize(
    "text", ["\ud800 lone", "nul \x00 and \x1b[31m", "\u202egnp.exe", "\U000e0041hidden", "\ufeff\ufffe"]
)
def test_text_that_cannot_be_encoded_or_seen_harms_nothing(client: JudgeClient, text: str) -> None:
    document = {**chat(calling(call(json.dumps({"q": text}))), result(text), {"role": "assistant", "content": text})}
    for card in both(client, document):
        assert len(card.steps) == 2
        assert card.model_dump_json().encode()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"type": "object", "properties": []},
        {"$ref": "#"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"properties": {"q": {"pattern": "(a+)+$"}}},
        [],
        "text",
        None,
    ],
)
def test_a_tool_schema_that_is_itself_invalid_settles_nothing(client: JudgeClient, schema: Any) -> None:
    tools = [{"type": "function", "function": {"name": "search", "parameters": schema}}]
    for card in both(client, chat(calling(call(json.dumps({"q": "a" * 40 + "!"}))), result("found"), tools=tools)):
        assert card.steps[0].answers["valid"] != "no"


def test_call_ids_that_repeat_are_paired_within_their_message(client: JudgeClient) -> None:
    document = chat(
        calling(call('{"q": "a"}', "same")),
        result("A", "same"),
        calling(call('{"q": "b"}', "same")),
        result("B", "same"),
    )
    first, second = next(iter(read_bytes(json.dumps(document).encode()))).steps
    assert (first.calls[0].result.text, second.calls[0].result.text) == ("A", "B")
    assert len(client.score(document).steps) == 2


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"   \n", "empty"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b'{"messages": [', "JSON"),
        (b"hello", "JSON"),
        (b"[" * 200_000, "deep"),
        (b'{"a": 1}', "tried"),
        (b"42", "tried"),
    ],
)
def test_a_file_that_is_no_trace_says_what_is_wrong_and_where(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    with pytest.raises(UnreadableTrace, match=says) as unreadable:
        list(read_file(path))
    assert "trace.json" in str(unreadable.value)


def test_many_parallel_calls_are_one_step(client: JudgeClient) -> None:
    calls = [call(json.dumps({"q": number}), f"c{number}") for number in range(60)]
    card = client.score(chat(calling(*calls), *[result(f"r{number}", f"c{number}") for number in range(60)]))
    assert (len(card.steps), len(card.steps[0].calls)) == (1, 60)
    assert (card.scores.tool_call_precision.numerator, card.scores.tool_call_precision.denominator) == (60, 60)
