# pyright: basic
import os
from collections.abc import Generator
from typing import Any

import httpx2
import orjson
import pytest
from jsonschema import Draft202012Validator

from llama import llama_server

ANSWER = {"enum": ["yes", "no", "not_applicable", "undetermined"]}
CRITERION = {
    "type": "object",
    "properties": {
        "quotes": {"type": "array", "items": {"type": "string"}},
        "reason": {"type": "string"},
        "answer": ANSWER,
    },
    "required": ["quotes", "reason", "answer"],
    "additionalProperties": False,
}
VERDICT = {
    "type": "object",
    "properties": {"valid": CRITERION, "relevant": CRITERION, "useful": CRITERION},
    "required": ["valid", "relevant", "useful"],
    "additionalProperties": False,
}
KEY = "only-for-this-test"


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with llama_server(api_key=KEY) as url:
        yield url


@pytest.fixture(scope="module")
def client(server: str) -> Generator[httpx2.Client]:
    headers = {"authorization": f"Bearer {KEY}"}
    with httpx2.Client(base_url=server, headers=headers, timeout=60) as client:
        yield client


def ask(client: httpx2.Client, text: str, **body: Any) -> dict[str, Any]:
    schema = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": VERDICT}}
    messages = [{"role": "system", "content": "You judge."}, {"role": "user", "content": text}]
    asked = {"model": "tiny", "messages": messages, "response_format": schema, "temperature": 0, "max_tokens": 2000}
    response = client.post("/chat/completions", json=asked | body)
    assert response.status_code == 200, response.text
    return response.json()


def follows_the_schema(text: str) -> bool:
    return Draft202012Validator(VERDICT).is_valid(orjson.loads(text))


def said(completion: dict[str, Any]) -> str:
    return completion["choices"][0]["message"]["content"]


@pytest.mark.parametrize("temperature", [0, 0.7, 1])
def test_every_answer_follows_the_schema(client: httpx2.Client, temperature: float) -> None:
    for seed in range(10):
        completion = ask(client, f"step {seed}", temperature=temperature, seed=seed)
        assert completion["choices"][0]["finish_reason"] == "stop"
        assert follows_the_schema(said(completion))


def test_zero_temperature_repeats_itself_and_seeds_differ(client: httpx2.Client) -> None:
    assert said(ask(client, "step 1")) == said(ask(client, "step 1"))
    assert len({said(ask(client, "step 1", temperature=1, seed=seed)) for seed in range(4)}) == 4


def odds_of_the_answer(client: httpx2.Client, seed: int) -> tuple[dict[str, float], int]:
    """The share of each allowed answer among the allowed ones, and how many tokens the server thought possible."""
    only = {"type": "json_schema", "json_schema": {"name": "answer", "schema": ANSWER}}
    sampling = {"temperature": 1, "seed": seed, "logprobs": True, "top_logprobs": 20, "post_sampling_probs": True}
    completion = ask(client, "step 1", response_format=only, **sampling)
    tokens = completion["choices"][0]["logprobs"]["content"]
    assert "".join(token["token"] for token in tokens) == said(completion)
    possible = {top["token"]: top["prob"] for top in tokens[1]["top_probs"]}
    total = sum(possible[answer] for answer in ANSWER["enum"])
    return {answer: possible[answer] / total for answer in ANSWER["enum"]}, len(possible)


def test_probabilities_after_sampling_agree_once_they_are_shared_among_the_allowed_answers(
    client: httpx2.Client,
) -> None:
    # llama.cpp masks with the schema only when its first draw broke it: most seeds show 6 tokens, some show 20.
    shares, sizes = zip(*(odds_of_the_answer(client, seed) for seed in range(12)), strict=True)
    assert min(sizes) < 10 < max(sizes)
    assert all(share == pytest.approx(shares[0], abs=0.001) for share in shares)


def test_logprobs_before_sampling_ignore_the_schema_and_may_be_fenced(client: httpx2.Client) -> None:
    completion = ask(client, "step 1", logprobs=True, top_logprobs=20)
    tokens = completion["choices"][0]["logprobs"]["content"]
    joined = "".join(token["token"] for token in tokens)
    assert joined.removeprefix("```json").removesuffix("```") == said(completion)
    opening = next(token for token in tokens if token["token"] == "{")
    assert "no" in [top["token"] for top in opening["top_logprobs"]]


def test_a_repeated_prefix_is_read_from_the_cache(client: httpx2.Client) -> None:
    trace = "".join(f"step {step}: the agent looks at line {step * step}\n" for step in range(80))
    first = ask(client, trace + "Was step 1 useful?")["usage"]
    second = ask(client, trace + "Was step 2 useful?")["usage"]
    assert first["prompt_tokens_details"]["cached_tokens"] < 200
    assert len(trace) <= second["prompt_tokens_details"]["cached_tokens"] < second["prompt_tokens"]


def test_a_prompt_of_twelve_thousand_bytes_fits_and_a_longer_context_is_refused(client: httpx2.Client) -> None:
    assert ask(client, "0123456789 " * 1100)["usage"]["prompt_tokens"] > 12_000
    response = client.post("/chat/completions", json={"messages": [{"role": "user", "content": "x" * 17_000}]})
    assert (response.status_code, response.json()["error"]["type"]) == (400, "exceed_context_size_error")


def test_a_wrong_key_is_refused(client: httpx2.Client) -> None:
    response = client.post("/chat/completions", json={"messages": []}, headers={"authorization": "Bearer other"})
    assert response.status_code == 401


def test_litellm_gets_a_verdict(server: str) -> None:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else the import fetches prices
    import litellm

    completion: Any = litellm.completion(
        "openai/tiny",
        messages=[{"role": "user", "content": "step 1"}],
        response_format={"type": "json_schema", "json_schema": {"name": "verdict", "schema": VERDICT}},
        temperature=0,
        max_tokens=2000,
        api_base=server,
        api_key=KEY,
        num_retries=0,
        max_retries=0,
        timeout=60,
    )
    assert follows_the_schema(completion.choices[0].message.content)
    assert completion.usage.prompt_tokens > 0
