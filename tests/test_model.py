"""What is sent to providers, and what it costs, where the model judge's tests do not look."""

from pathlib import Path

import pytest

from judge_service.model import messages
from judge_service.prompt import Prompt
from stepjudge.client import JudgeClient

from fakes.provider import Provider
from scripted import always

PROMPT = Prompt(system="rubric", blocks=("task", "step 1", "step 2"), question="question")

LONG = {
    "messages": [
        {"role": "user", "content": "Summarise. " + "words and words " * 600},
        *({"role": "assistant", "content": f"Part {number}."} for number in range(4)),
    ]
}


def test_most_providers_get_plain_text_in_one_stable_order() -> None:
    system, user = messages("openai/gpt-5.2", PROMPT, [])
    assert (system["content"], user["content"]) == ("rubric", "taskstep 1step 2question")


def test_anthropic_gets_blocks_with_marks_after_the_rubric_and_after_the_history() -> None:
    system, user = messages("anthropic/claude-sonnet-5", PROMPT, [])
    marked = [block["text"] for block in (*system["content"], *user["content"]) if "cache_control" in block]
    assert [block["text"] for block in user["content"]] == ["task", "step 1", "step 2", "question"]
    assert marked == ["rubric", "step 2"]


def test_objections_continue_the_conversation_behind_the_cached_prefix() -> None:
    said = messages("openai/gpt-5.2", PROMPT, [("", "bad"), ("x", "still bad")])
    assert [(each["role"], each["content"]) for each in said[2:]] == [
        ("assistant", "(nothing)"),
        ("user", "bad"),
        ("assistant", "x"),
        ("user", "still bad"),
    ]


def test_a_listed_price_is_charged_with_the_discount_for_cached_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Provider(always("yes")) as provider:
        monkeypatch.setenv("OPENAI_API_BASE", provider.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
        with JudgeClient.embedded(data_dir=tmp_path, judge="openai/gpt-4o-mini") as client:
            card = client.score(LONG)
        usage = provider.usage
        assert {request.headers["authorization"] for request in provider.requests} == {"Bearer sk-from-the-environment"}

    assert usage.cached_tokens > 0.5 * usage.prompt_tokens
    per_million = 0.15 * (usage.prompt_tokens - usage.cached_tokens) + 0.075 * usage.cached_tokens
    assert card.cost_usd == pytest.approx((per_million + 0.60 * usage.completion_tokens) / 1e6, rel=1e-6)


def test_the_longest_prompt_goes_first_and_warms_the_others(tmp_path: Path) -> None:
    with Provider(always("yes"), latency=0.05) as provider:
        settings = {"data_dir": tmp_path, "judge": "openai/fake", "api_base": provider.base_url}
        with JudgeClient.embedded(**settings) as client:
            client.score(LONG)
        first, *rest = provider.exchanges

    assert "Judge step 4," in first.request.user
    assert first.usage.cached_tokens == 0
    assert all(each.usage.cached_tokens > 0.9 * each.usage.prompt_tokens - 256 for each in rest)
    assert all(each.received >= (first.answered or 0) for each in rest)
