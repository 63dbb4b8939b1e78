"""A real model on a real llama.cpp server judges a trace. It checks protocol and record keeping, not wisdom."""

from pathlib import Path
from typing import Any

import pytest

from stepjudge.client import JudgeClient
from stepjudge.contract import Scorecard
from stepjudge.rubric import Rubric

# A token of the tiny model is about a byte, so its window takes a short rubric and a short trace.
RUBRIC = Rubric.model_validate(
    {
        "name": "short",
        "version": "1.0.0",
        "instructions": "Grade one step.",
        "criteria": [
            {"name": "valid", "unit": "call", "step_takes": "all", "question": "Is it well formed?"},
            {"name": "useful", "unit": "call", "step_takes": "any", "question": "Does it help?", "implies": ["valid"]},
        ],
        "scoring": {"passes": ["valid", "useful"], "bad": ["valid"]},
    }
)


def trace() -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the capital of Peru."}]
    for number, query in enumerate(("Peru", "Peru capital"), start=1):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "search", "arguments": f'{{"q": "{query}"}}'},
        }
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"Result {number}: Lima is the capital of Peru."},
        ]
    return {"messages": [*messages, {"role": "assistant", "content": "It is Lima."}]}


@pytest.fixture
def client(llama: str, tmp_path: Path) -> JudgeClient:
    judge = {"model": "openai/tiny", "api_base": llama, "max_tokens": 3_000, "seed": 1, "timeout_s": 60.0}
    return JudgeClient.embedded(data_dir=tmp_path, judge="tiny", judges={"tiny": judge}, concurrency=2)


def scored(client: JudgeClient) -> Scorecard:
    return client.score(trace(), rubric=RUBRIC)


def test_a_real_model_judges_every_step_and_all_of_it_is_on_record(client: JudgeClient) -> None:
    with client:
        card = scored(client)
        audits = [client.audit(step.verdict_id) for step in card.steps]

    assert [step.index for step in card.steps] == [1, 2, 3]
    assert set(card.causes) <= {"judge_unsure", "contradiction", "truncated_reply"}, "every reply fitted the schema"
    for audit in audits:
        assert (audit.prompt_matches, audit.state_matches) == (True, True)
        first = audit.record.exchanges[0]
        assert (first["mode"], first["model"]) == ("json_schema", "tiny")
        assert isinstance(first["completion_tokens"], int)
        assert first["completion_tokens"] > 0
    last = audits[-1].record.verdict.spent
    assert last.prompt_tokens is not None
    assert last.prompt_tokens > 1_000


def test_later_steps_are_served_from_the_warm_prefix(client: JudgeClient) -> None:
    with client:
        card = scored(client)
        first_exchanges = [client.audit(step.verdict_id).record.exchanges[0] for step in card.steps]

    cached = [exchange["cached_tokens"] for exchange in first_exchanges[:-1]]
    assert max(int(str(tokens)) for tokens in cached) > 500, "the longest prompt went first, and warmed the others"


def test_its_token_probabilities_become_confidence(client: JudgeClient) -> None:
    with client:
        details = [answer for step in scored(client).steps for answer in step.details if answer.settled_by == "judge"]

    confidences = [answer.confidence for answer in details if answer.cause in (None, "judge_unsure")]
    assert confidences
    assert all(confidence is not None and 0 < confidence <= 1 for confidence in confidences)


def test_the_second_run_asks_nothing(client: JudgeClient) -> None:
    with client:
        before, after = scored(client), scored(client)

    remembered = [step.index for step in before.steps if not any(answer.cause for answer in step.details)]
    assert all(after.steps[index - 1].cached for index in remembered)
    assert [step.answers for step in after.steps if step.index in remembered] == [
        step.answers for step in before.steps if step.index in remembered
    ]
