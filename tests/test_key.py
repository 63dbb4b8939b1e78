"""A verdict's key holds everything that the answers depend on, and nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepjudge.client import JudgeClient
from stepjudge.rubric import Rubric
from stepjudge.rubric_file import read_rubric_file, shipped

from fakes.provider import Provider
from scripted import always

STEP = read_rubric_file(shipped() / "step" / "1.0.0.yaml")


def trace(**changes: Any) -> dict[str, Any]:
    """A chat of two steps. Changes name what differs."""
    arguments = changes.get("arguments", '{"q": "capital of Peru", "n": 1}')
    call = {
        "id": changes.get("call_id", "c1"),
        "type": "function",
        "function": {"name": "search", "arguments": arguments},
    }
    parameters = {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "number"}}}
    return {
        "id": changes.get("trace_id", "a"),
        "tools": [{"type": "function", "function": {"name": "search", "parameters": parameters}}],
        "messages": [
            {"role": "system", "content": changes.get("system", "Be brief.")},
            {"role": "user", "content": changes.get("task", "What is the capital of Peru?")},
            {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": changes.get("result", "Lima is the capital.")},
            {"role": "assistant", "content": changes.get("answer", "Lima.")},
        ],
    }


def edited(rubric: Rubric, question: str) -> Rubric:
    first, *rest = rubric.criteria
    return rubric.model_copy(
        update={"version": "1.0.1", "criteria": (first.model_copy(update={"question": question}), *rest)}
    )


@pytest.fixture
def provider() -> Any:
    with Provider(always("yes")) as provider:
        yield provider


@pytest.fixture
def asked(provider: Provider, tmp_path: Path) -> Callable[..., int]:
    """Score with these settings and options, over one data folder; how many model calls that took."""

    def ask(document: dict[str, Any], settings: dict[str, Any] | None = None, **options: Any) -> int:
        before = len(provider.requests)
        chosen = {"judge": "openai/fake", "api_base": provider.base_url, **(settings or {})}
        with JudgeClient.embedded(data_dir=tmp_path, **chosen) as client:
            client.score(document, **options)
        return len(provider.requests) - before

    assert ask(trace()) == 2
    return ask


def test_the_same_question_is_asked_once(asked: Callable[..., int]) -> None:
    assert asked(trace()) == 0


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"judge": "openai/other"}, id="model"),
        pytest.param({"temperature": 0.5}, id="temperature"),
        pytest.param({"seed": 7}, id="seed"),
        pytest.param({"max_tokens": 100_000}, id="reply limit"),
    ],
)
def test_another_judge_is_asked_again(asked: Callable[..., int], settings: dict[str, Any]) -> None:
    assert asked(trace(), settings) == 2


def test_another_endpoint_is_asked_again(asked: Callable[..., int]) -> None:
    with Provider(always("yes")) as other:
        asked(trace(), {"api_base": other.base_url})
        assert len(other.requests) == 2


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_another_endpoint_in_the_environment_is_asked_again(
    variable: str, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
    with Provider(always("yes")) as other:
        for each in (provider, provider, other):
            monkeypatch.setenv(variable, each.base_url)
            with JudgeClient.embedded(data_dir=tmp_path, judge="openai/fake") as client:
                client.score(trace())
        assert (len(provider.requests), len(other.requests)) == (2, 2)


def test_the_same_rubric_sent_whole_is_the_same_rubric(asked: Callable[..., int]) -> None:
    assert asked(trace(), rubric=STEP) == 0


def test_another_rubric_text_is_asked_again(asked: Callable[..., int]) -> None:
    assert asked(trace(), rubric=edited(STEP, "Is the call well formed?")) == 2


@pytest.mark.parametrize(
    ("changes", "calls"),
    [
        pytest.param({"task": "What is the capital of Chile?"}, 2, id="the task"),
        pytest.param({"system": "Be long."}, 2, id="the system prompt"),
        pytest.param({"arguments": '{"q": "Peru capital", "n": 1}'}, 2, id="arguments of the first step"),
        pytest.param({"result": "Lima."}, 2, id="result of the first step"),
        pytest.param({"answer": "It is Lima."}, 1, id="only the last step"),
    ],
)
def test_a_step_whose_own_words_or_past_changed_is_asked_again(
    asked: Callable[..., int], changes: dict[str, Any], calls: int
) -> None:
    assert asked(trace(**changes)) == calls


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"call_id": "call_9f"}, id="call ids"),
        pytest.param({"trace_id": "b"}, id="trace id"),
        pytest.param({"arguments": '{"n": 1, "q": "capital of Peru"}'}, id="key order"),
        pytest.param({"arguments": '{"q": "capital of Peru", "n": 1.0}'}, id="float spelling"),
        pytest.param({"arguments": '{ "q":"capital of Peru",\n "n":1 }'}, id="white space between tokens"),
    ],
)
def test_what_a_harness_draws_at_random_or_spells_otherwise_changes_nothing(
    asked: Callable[..., int], changes: dict[str, Any]
) -> None:
    assert asked(trace(**changes)) == 0


@pytest.mark.parametrize(
    "settings", [{"concurrency": 1}, {"timeout_s": 5.0}, {"max_cost_usd": 0.5}, {"api_key": "sk-another"}]
)
def test_how_a_judge_is_reached_and_paid_changes_nothing(asked: Callable[..., int], settings: dict[str, Any]) -> None:
    assert asked(trace(), settings) == 0


def test_the_range_and_grouping_change_no_verdict(asked: Callable[..., int]) -> None:
    assert asked(trace(), steps="2", group="consecutive-reads") == 0


def test_a_growing_trace_pays_for_its_new_steps_only(asked: Callable[..., int]) -> None:
    longer = trace()
    longer["messages"] += [{"role": "user", "content": "And of Chile?"}, {"role": "assistant", "content": "Santiago."}]
    assert asked(longer) == 1


def test_fresh_asks_again_and_is_remembered_afterwards(asked: Callable[..., int]) -> None:
    assert asked(trace(), fresh=True) == 2
    assert asked(trace()) == 0
