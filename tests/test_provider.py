import os
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import httpx2
import orjson
import pytest

from fakes.faults import (
    BAD_GATEWAY,
    CONTEXT_TOO_LONG,
    CUT_BEFORE,
    CUT_INSIDE,
    EMPTY,
    FAULTS,
    FILTERED,
    FILTERED_PROMPT,
    HANG,
    INSUFFICIENT_QUOTA,
    NO_JSON_SCHEMA,
    NO_SUCH_MODEL,
    NOT_JSON,
    OVERLOADED,
    RATE_LIMITED,
    REFUSAL,
    SERVER_ERROR,
    TRUNCATED,
    UNAUTHORIZED,
    UNAVAILABLE,
    WRONG_SCHEMA,
    Fault,
    every,
    first,
    first_of_each,
    rate_limited,
    seeded,
)
from fakes.provider import Provider, Reply, Request, Usage

VERDICT = {"valid": "yes", "reason": "It reads the file that the task names."}
TOOL = {"type": "function", "function": {"name": "verdict", "parameters": {"type": "object"}}}
FORCED: dict[str, Any] = {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "verdict"}}}


def verdict(_: Request) -> dict[str, str]:
    return VERDICT


@pytest.fixture
def client() -> Generator[httpx2.Client]:
    with httpx2.Client(timeout=5) as client:
        yield client


def ask(client: httpx2.Client, provider: Provider, text: str = "step 1", **body: Any) -> httpx2.Response:
    messages = [{"role": "system", "content": "You judge."}, {"role": "user", "content": text}]
    return client.post(f"{provider.base_url}/chat/completions", json={"model": "m", "messages": messages, **body})


def choice(response: httpx2.Response) -> dict[str, Any]:
    assert response.status_code == 200
    return response.json()["choices"][0]


def content(response: httpx2.Response) -> str:
    return choice(response)["message"]["content"]


def test_the_script_answers_what_it_reads_in_the_prompt(client: httpx2.Client) -> None:
    def script(request: Request) -> str:
        return f"{request.system} {request.user} {request.model} {request.body['temperature']} {request.number}"

    parts = [{"type": "text", "text": "step "}, {"type": "text", "text": "1"}]
    with Provider(script) as provider:
        messages = [{"role": "developer", "content": "Judge."}, {"role": "user", "content": parts}]
        response = ask(client, provider, messages=messages, temperature=0.5)
    assert content(response) == "Judge. step 1 m 0.5 1"


def test_a_mapping_becomes_json(client: httpx2.Client) -> None:
    with Provider(verdict) as provider:
        response = ask(client, provider)
    assert orjson.loads(content(response)) == VERDICT
    assert choice(response)["finish_reason"] == "stop"


@pytest.mark.parametrize(("tool_choice", "finish"), [(FORCED["tool_choice"], "stop"), ("required", "tool_calls")])
def test_a_forced_tool_call_carries_the_answer(client: httpx2.Client, tool_choice: object, finish: str) -> None:
    with Provider(verdict) as provider:
        chosen = choice(ask(client, provider, tools=[TOOL], tool_choice=tool_choice))
    function = chosen["message"]["tool_calls"][0]["function"]
    assert (function["name"], orjson.loads(function["arguments"])) == ("verdict", VERDICT)
    assert (chosen["message"]["content"], chosen["finish_reason"]) == (None, finish)


def test_a_tool_that_is_only_offered_is_called_when_the_script_says_so(client: httpx2.Client) -> None:
    with Provider(lambda _: Reply(content="Let me see.", tool_arguments="{")) as provider:
        message = choice(ask(client, provider, tools=[TOOL]))["message"]
    assert (message["content"], message["tool_calls"][0]["function"]["arguments"]) == ("Let me see.", "{")


def test_a_reply_can_set_every_part_of_the_answer(client: httpx2.Client) -> None:
    reply = Reply("{}", reasoning="12345678", finish_reason="odd", model="m-2026", headers={"x-cost": "1"})
    with Provider(lambda _: reply) as provider:
        response = ask(client, provider)
    assert (response.json()["model"], response.headers["x-cost"]) == ("m-2026", "1")
    assert choice(response)["finish_reason"] == "odd"
    assert choice(response)["message"]["reasoning_content"] == "12345678"
    assert response.json()["usage"]["completion_tokens_details"]["reasoning_tokens"] == 2


def test_the_script_finds_the_schema_wherever_the_client_put_it(client: httpx2.Client) -> None:
    schema = {"type": "object"}
    response_format = {"type": "json_schema", "json_schema": {"name": "v", "schema": schema}}
    with Provider(lambda request: {"schema": request.schema}) as provider:
        asked = content(ask(client, provider, response_format=response_format))
        forced = choice(ask(client, provider, **FORCED))["message"]["tool_calls"][0]["function"]["arguments"]
        neither = content(ask(client, provider))
    assert [orjson.loads(each)["schema"] for each in (asked, forced, neither)] == [schema, schema, None]


def test_a_token_limit_cuts_the_answer(client: httpx2.Client) -> None:
    with Provider(lambda _: "12345678" * 10) as provider:
        response = ask(client, provider, max_tokens=3)
    assert (content(response), choice(response)["finish_reason"]) == ("123456781234", "length")
    assert response.json()["usage"]["completion_tokens"] == 3


@pytest.mark.parametrize("text", ['{"valid":"yes","why":"näh, 日本 🙂"}', "a_b__c  \n\n not_applicable"])
def test_logprob_tokens_join_to_the_content(client: httpx2.Client, text: str) -> None:
    with Provider(lambda _: text) as provider:
        entries = choice(ask(client, provider, logprobs=True, top_logprobs=5))["logprobs"]["content"]
    assert "".join(entry["token"] for entry in entries) == text
    assert bytes(byte for entry in entries for byte in entry["bytes"]) == text.encode()
    assert all(entry["logprob"] <= 0 and len(entry["top_logprobs"]) == 5 for entry in entries)
    assert all(entry["token"] in [top["token"] for top in entry["top_logprobs"]] for entry in entries)


def test_the_script_can_set_the_odds_of_a_token(client: httpx2.Client) -> None:
    def odds(token: str, offset: int) -> dict[str, float]:
        return {6: {"yes": 0.25, "no": 0.75}, 26: {"no": 1.0}}.get(offset, {}) if token == "yes" else {}

    with Provider(lambda _: Reply('{"a":"yes","b":"yes","c":"yes"}', logprobs=odds)) as provider:
        entries = choice(ask(client, provider, logprobs=True, top_logprobs=2))["logprobs"]["content"]
    answers = [entry for entry in entries if entry["token"] == "yes"]
    assert [top["token"] for top in answers[0]["top_logprobs"]] == ["no", "yes"]
    assert answers[0]["logprob"] == pytest.approx(-1.386, abs=0.001)
    assert answers[1]["logprob"] > -0.4
    assert [top["token"] for top in answers[2]["top_logprobs"]] == ["no", "yes"]


def test_no_logprobs_unless_asked(client: httpx2.Client) -> None:
    with Provider(verdict) as provider:
        assert choice(ask(client, provider))["logprobs"] is None


def test_a_stream_joins_to_the_same_answer(client: httpx2.Client) -> None:
    with Provider(verdict) as provider:
        response = ask(client, provider, stream=True, stream_options={"include_usage": True}, logprobs=True)
    assert response.headers["content-type"] == "text/event-stream"
    lines = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    *chunks, last = (orjson.loads(line) for line in lines)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert orjson.loads("".join(delta.get("content") or "" for delta in deltas)) == VERDICT
    assert last["usage"]["completion_tokens"] > 0
    scored = [chunk["choices"][0]["logprobs"] for chunk in chunks if chunk["choices"][0]["logprobs"]]
    assert orjson.loads("".join(each["content"][0]["token"] for each in scored)) == VERDICT


def test_a_stream_carries_a_forced_call(client: httpx2.Client) -> None:
    with Provider(verdict) as provider:
        response = ask(client, provider, stream=True, **FORCED)
    chunks = [orjson.loads(line[6:]) for line in response.text.split("\n\n") if line.startswith("data: {")]
    calls = [call for chunk in chunks for call in chunk["choices"][0]["delta"].get("tool_calls", ())]
    assert calls[0]["function"]["name"] == "verdict"
    assert orjson.loads("".join(call["function"]["arguments"] for call in calls)) == VERDICT


def test_models_are_listed_and_enforced(client: httpx2.Client) -> None:
    with Provider(verdict, models=["small", "large"]) as provider:
        listed = client.get(f"{provider.base_url}/models").json()["data"]
        unknown, known = ask(client, provider, model="huge"), ask(client, provider, model="large")
    assert [model["id"] for model in listed] == ["small", "large"]
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "model_not_found")
    assert known.status_code == 200


def test_a_key_is_enforced(client: httpx2.Client) -> None:
    with Provider(verdict, api_key="right") as provider:
        missing = ask(client, provider)
        client.headers["authorization"] = "Bearer right"
        assert (missing.status_code, ask(client, provider).status_code) == (401, 200)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"{}",
        b"null",
        b'{"messages":"hi"}',
        b'{"messages":["x"]}',
        b'{"messages":[],"n":2}',
        b'{"messages":["\\ud800"]}',
    ],
)
def test_a_body_that_makes_no_sense_is_400(client: httpx2.Client, body: bytes) -> None:
    with Provider(verdict) as provider:
        response = client.post(f"{provider.base_url}/chat/completions", content=body)
        assert (response.status_code, response.json()["error"]["type"]) == (400, "invalid_request_error")
        assert provider.statuses == {400: 1}


def test_any_other_path_is_404(client: httpx2.Client) -> None:
    with Provider(verdict) as provider:
        for response in (client.get(f"{provider.base_url}/chat/completions"), client.post(f"{provider.base_url}/x")):
            assert (response.status_code, response.json()["error"]["type"]) == (404, "invalid_request_error")
        assert provider.count == 0


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        (RATE_LIMITED, 429, "rate_limit_exceeded"),
        (INSUFFICIENT_QUOTA, 429, "insufficient_quota"),
        (SERVER_ERROR, 500, None),
        (UNAVAILABLE, 503, None),
        (OVERLOADED, 529, None),
        (CONTEXT_TOO_LONG, 400, "context_length_exceeded"),
        (NO_JSON_SCHEMA, 400, None),
        (FILTERED_PROMPT, 400, "content_filter"),
        (UNAUTHORIZED, 401, "invalid_api_key"),
        (NO_SUCH_MODEL, 404, "model_not_found"),
    ],
)
def test_a_fault_is_an_error_as_the_api_words_it(
    client: httpx2.Client, fault: Fault, status: int, code: str | None
) -> None:
    with Provider(verdict, faults=first(1, fault)) as provider:
        broken, mended = ask(client, provider), ask(client, provider)
        assert (broken.status_code, broken.json()["error"]["code"]) == (status, code)
        assert "retry-after" not in broken.headers
        assert mended.status_code == 200
        assert provider.statuses == {status: 1, 200: 1}
        assert [exchange.fault for exchange in provider.exchanges] == [fault.name, None]


def test_a_bad_gateway_speaks_html(client: httpx2.Client) -> None:
    with Provider(verdict, faults=every(1, BAD_GATEWAY)) as provider:
        response = ask(client, provider)
    assert (response.status_code, response.headers["content-type"]) == (502, "text/html")
    assert response.text.startswith("<html>")


def test_the_three_ways_to_say_when_to_come_back(client: httpx2.Client) -> None:
    forms = [rate_limited(2), rate_limited(0.25, "ms"), rate_limited(2, "date")]
    with Provider(verdict, faults=lambda request: forms[request.number - 1]) as provider:
        seconds, ms, date = (ask(client, provider).headers for _ in forms)
    assert seconds["retry-after"] == "2"
    assert ms["retry-after-ms"] == "250"
    wait = parsedate_to_datetime(date["retry-after"]) - datetime.now(UTC)
    assert 1 < wait.total_seconds() <= 3


@pytest.mark.parametrize(
    ("fault", "said", "refusal", "finish"),
    [
        (NOT_JSON, "Sure! Here is my verdict: {valid: yes,", None, "stop"),
        (WRONG_SCHEMA, '{"unexpected":["shape",1]}', None, "stop"),
        (EMPTY, "", None, "stop"),
        (REFUSAL, None, "I'm sorry, I can't help with that.", "stop"),
        (FILTERED, "", None, "content_filter"),
        (TRUNCATED, '{"valid":', None, "length"),
    ],
)
def test_a_fault_spoils_the_answer(
    client: httpx2.Client, fault: Fault, said: str | None, refusal: str | None, finish: str
) -> None:
    with Provider(lambda _: {"valid": "perhaps"}, faults=first(1, fault)) as provider:
        chosen = choice(ask(client, provider))
        assert orjson.loads(content(ask(client, provider))) == {"valid": "perhaps"}
    message = chosen["message"]
    assert (message["content"], message["refusal"], chosen["finish_reason"]) == (said, refusal, finish)


@pytest.mark.parametrize(
    ("fault", "arguments"),
    [(NOT_JSON, "Sure! Here is my verdict: {valid: yes,"), (EMPTY, ""), (TRUNCATED, '{"valid":')],
)
def test_a_fault_spoils_the_arguments_of_a_forced_call(client: httpx2.Client, fault: Fault, arguments: str) -> None:
    with Provider(lambda _: {"valid": "perhaps"}, faults=every(1, fault)) as provider:
        message = choice(ask(client, provider, **FORCED))["message"]
    assert message["tool_calls"][0]["function"]["arguments"] == arguments


@pytest.mark.parametrize("stream", [False, True])
def test_a_connection_is_cut_inside_the_body(client: httpx2.Client, stream: bool) -> None:
    with Provider(verdict, faults=first(1, CUT_INSIDE)) as provider:
        with pytest.raises(httpx2.RemoteProtocolError, match="complete"):
            ask(client, provider, stream=stream)
        assert ask(client, provider).status_code == 200
        assert provider.statuses == {0: 1, 200: 1}
        assert provider.disconnects == 0


def test_a_connection_is_cut_before_the_first_byte(client: httpx2.Client) -> None:
    with Provider(verdict, faults=first(1, CUT_BEFORE)) as provider:
        with pytest.raises(httpx2.RemoteProtocolError, match="without sending a response"):
            ask(client, provider)
        assert ask(client, provider).status_code == 200
        assert provider.statuses == {0: 1, 200: 1}


def test_a_hang_lasts_until_the_client_leaves(client: httpx2.Client) -> None:
    with Provider(verdict, faults=every(1, HANG)) as provider:
        with pytest.raises(httpx2.ReadTimeout):
            client.post(f"{provider.base_url}/chat/completions", json={"messages": []}, timeout=0.05)
        provider.wait_until(lambda: provider.disconnects == 1)
        assert (provider.statuses, provider.in_flight) == ({0: 1}, 0)


def test_a_client_that_leaves_early_is_counted_and_warms_nothing(client: httpx2.Client) -> None:
    text = "x" * 8192
    with Provider(verdict, latency=lambda request: 0.2 if request.number == 1 else 0) as provider:
        with pytest.raises(httpx2.ReadTimeout):
            client.post(
                f"{provider.base_url}/chat/completions",
                json={"model": "m", "messages": [{"role": "user", "content": text}]},
                timeout=0.05,
            )
        provider.wait_until(lambda: provider.disconnects == 1)
        time.sleep(0.2)
        assert (provider.statuses, provider.usage) == ({0: 1}, Usage())
        ask(client, provider, messages=[{"role": "user", "content": text}])
        assert provider.usage.cached_tokens == 0


def test_every_fault_leaves_nothing_in_flight() -> None:
    with Provider(verdict, faults=lambda request: FAULTS[request.number - 1]) as provider:
        for _ in FAULTS:
            with httpx2.Client(timeout=0.2) as client, suppress(httpx2.TransportError):
                ask(client, provider)
        provider.wait_until(lambda: provider.in_flight == 0)
        assert [exchange.fault for exchange in provider.exchanges] == [fault.name for fault in FAULTS]
        assert sum(provider.statuses.values()) == len(FAULTS)


def test_faults_can_be_scheduled(client: httpx2.Client) -> None:
    def statuses(policy: Any) -> list[int]:
        with Provider(verdict, faults=policy) as provider:
            return [ask(client, provider, text).status_code for text in ("a", "b", "a", "b")]

    assert statuses(first(3, SERVER_ERROR)) == [500, 500, 500, 200]
    assert statuses(first_of_each(1, SERVER_ERROR)) == [500, 500, 200, 200]
    assert statuses(every(2, SERVER_ERROR)) == [200, 500, 200, 500]


def test_a_seeded_mix_repeats_itself_in_any_order(client: httpx2.Client) -> None:
    rates = {SERVER_ERROR: 0.25, OVERLOADED: 0.25}

    def statuses(seed: int, order: list[int]) -> dict[int, int]:
        with Provider(verdict, faults=seeded(rates, seed)) as provider:
            return {step: ask(client, provider, f"step {step}").status_code for step in order}

    forwards, backwards = statuses(1, list(range(100))), statuses(1, list(range(99, -1, -1)))
    assert forwards == backwards
    assert forwards != statuses(2, list(range(100)))
    shares = [sum(status == wanted for status in forwards.values()) for wanted in (200, 500, 529)]
    assert 35 <= shares[0] <= 65
    assert min(shares[1:]) >= 12


def test_latency_holds_every_answer_at_once() -> None:
    with Provider(verdict, latency=0.2) as provider, httpx2.Client(timeout=5) as client, ThreadPoolExecutor(8) as pool:
        started = time.monotonic()
        list(pool.map(partial(ask, client, provider), map(str, range(8))))
        assert 0.2 <= time.monotonic() - started < 0.8
        assert (provider.in_flight_peak, provider.in_flight) == (8, 0)
        assert all((e.answered or 0) - e.received >= 0.19 for e in provider.exchanges)


def test_more_than_the_server_takes_at_once_is_429() -> None:
    with (
        Provider(verdict, latency=0.3, max_in_flight=2) as provider,
        httpx2.Client(timeout=5) as client,
        ThreadPoolExecutor(6) as pool,
    ):
        list(pool.map(partial(ask, client, provider), map(str, range(6))))
        assert provider.statuses == {200: 2, 429: 4}


def test_requests_per_minute_are_limited_and_announced(client: httpx2.Client) -> None:
    with Provider(verdict, requests_per_minute=2) as provider:
        first_answer, _, refused = (ask(client, provider) for _ in range(3))
    assert first_answer.headers["x-ratelimit-limit-requests"] == "2"
    assert first_answer.headers["x-ratelimit-remaining-requests"] == "1"
    assert first_answer.headers["x-ratelimit-reset-requests"].endswith("s")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")


def test_usage_counts_four_bytes_a_token(client: httpx2.Client) -> None:
    with Provider(lambda _: "123456789") as provider:
        usage = ask(client, provider, messages=[{"role": "user", "content": "é" * 16}]).json()["usage"]
    # "<|user|>\n" + 32 bytes + "\n" are 42 bytes
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (11, 3, 14)


def cached(client: httpx2.Client, provider: Provider, text: str, **body: Any) -> int:
    """What the provider says was cached, of a prompt that is this text behind a marker of 9 bytes."""
    messages = [{"role": "user", "content": text}]
    usage = ask(client, provider, messages=messages, **body).json()["usage"]
    return usage["prompt_tokens_details"]["cached_tokens"]


def test_the_longest_known_prefix_is_cached_in_whole_blocks(client: httpx2.Client) -> None:
    text = "".join(f"{line:07} " for line in range(1000))  # 8000 bytes, no two blocks alike
    with Provider(verdict) as provider:
        assert cached(client, provider, text) == 0
        assert cached(client, provider, text) == 1920  # 15 whole blocks of 512 bytes in 8010
        assert cached(client, provider, text + "more" * 200) == 1920
        assert cached(client, provider, text[:5000] + "!" * 3000) == 1152  # the 9 whole blocks before the change
        assert cached(client, provider, "!" + text) == 0
        assert cached(client, provider, text + "more" * 200) == 2176  # by now known to its own 17th block
        assert provider.usage.cached_tokens == 1920 + 1920 + 1152 + 2176


def test_a_prefix_below_the_minimum_is_not_cached(client: httpx2.Client) -> None:
    with Provider(verdict) as provider, Provider(verdict, cache_minimum=0) as generous:
        assert [cached(client, provider, "x" * 4000) for _ in range(2)] == [0, 0]
        assert [cached(client, generous, "x" * 4000) for _ in range(2)] == [0, 896]


def test_models_tools_and_schemas_do_not_share_prefixes(client: httpx2.Client) -> None:
    text = "x" * 8000
    with Provider(verdict) as provider:
        assert cached(client, provider, text) == 0
        assert cached(client, provider, text, model="other") == 0
        assert cached(client, provider, text, tools=[TOOL]) == 0
        assert cached(client, provider, text, response_format={"type": "json_object"}) == 0
        assert cached(client, provider, text, temperature=1) == 1920


def test_a_prefix_is_warm_only_when_its_first_request_was_answered(client: httpx2.Client) -> None:
    text = "x" * 8000
    with Provider(verdict, latency=2.0) as provider, ThreadPoolExecutor(4) as pool:
        side_by_side = list(pool.map(partial(cached, client, provider), [text] * 4))
        assert side_by_side == [0, 0, 0, 0]
        assert cached(client, provider, text) == 1920


def test_a_failed_request_warms_nothing(client: httpx2.Client) -> None:
    with Provider(verdict, faults=first(1, SERVER_ERROR)) as provider:
        assert ask(client, provider, "x" * 8000).status_code == 500
        assert ask(client, provider, "x" * 8000).json()["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


def test_requests_are_kept_in_order_of_arrival_even_while_they_wait() -> None:
    with (
        Provider(verdict, latency=lambda request: 0.3 if request.number == 1 else 0) as provider,
        httpx2.Client(timeout=5) as client,
    ):
        slow = threading.Thread(target=ask, args=(client, provider, "slow"))
        slow.start()
        provider.wait_until(lambda: provider.in_flight == 1)
        ask(client, provider, "quick")
        assert [exchange.status for exchange in provider.exchanges] == [None, 200]
        slow.join()
        assert [request.user for request in provider.requests] == ["slow", "quick"]
        assert [exchange.status for exchange in provider.exchanges] == [200, 200]


def test_nothing_is_kept_when_told_so_but_all_is_counted(client: httpx2.Client) -> None:
    with Provider(verdict, record=False) as provider:
        ask(client, provider)
        assert (provider.requests, provider.count, provider.statuses) == ((), 1, {200: 1})
        assert provider.usage.prompt_tokens > 0


def test_a_repeated_body_is_the_next_attempt(client: httpx2.Client) -> None:
    with Provider(verdict) as provider:
        for text in ("a", "b", "a"):
            ask(client, provider, text)
        assert [(request.number, request.attempt) for request in provider.requests] == [(1, 1), (2, 1), (3, 2)]


def broken(_: Request) -> Any:
    raise TypeError("the test's own mistake")


def unwritable(_: Request) -> dict[str, object]:
    return {"not JSON": object()}


@pytest.mark.parametrize("script", [broken, unwritable])
def test_a_script_that_raises_fails_the_test_that_wrote_it(
    client: httpx2.Client, script: Callable[[Request], dict[str, object]]
) -> None:
    with pytest.raises(TypeError, match=r"own mistake|not JSON serializable"), Provider(script) as provider:
        assert ask(client, provider).status_code == 500


def test_one_connection_serves_many_requests_split_anywhere() -> None:
    body = orjson.dumps({"messages": [{"role": "user", "content": "é"}]})
    head = b"POST /v1/chat/completions?x=1 HTTP/1.1\r\nHost: a\r\nCONTENT-LENGTH: %d\r\n\r\n" % len(body)
    with Provider(lambda request: f"{request.number}") as provider:
        address = urlsplit(provider.base_url)
        connection = HTTPConnection("127.0.0.1", address.port or 0, timeout=5)
        connection.connect()
        wire = head + body
        for cut in (1, len(head) - 2, len(head) + 3):
            connection.sock.sendall(wire[:cut])
            time.sleep(0.01)
            connection.sock.sendall(wire[cut:])
            assert connection.sock.recv(65536).startswith(b"HTTP/1.1 200 OK")
        connection.sock.sendall(wire * 2)  # pipelined
        provider.wait_until(lambda: provider.count == 5)
        connection.close()
        assert provider.statuses == {200: 5}


def test_what_is_not_http_is_refused_and_cut() -> None:
    with Provider(verdict) as provider:
        connection = HTTPConnection("127.0.0.1", urlsplit(provider.base_url).port or 0, timeout=5)
        connection.connect()
        connection.sock.sendall(b"hello\r\n\r\n")
        assert connection.sock.recv(65536).startswith(b"HTTP/1.1 400")
        assert connection.sock.recv(65536) == b""
        connection.close()


async def complete(provider: Provider, **arguments: Any) -> Any:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else the import fetches prices
    import litellm

    return await litellm.acompletion(
        "openai/m",
        messages=[{"role": "user", "content": "x" * 8000}],
        api_base=provider.base_url,
        api_key="any",
        num_retries=0,
        max_retries=0,
        timeout=5,
        **arguments,
    )


async def test_litellm_reads_the_answer_its_logprobs_and_its_cached_tokens() -> None:
    with Provider(verdict) as provider:
        await complete(provider)
        response = await complete(provider, logprobs=True, top_logprobs=3)
        assert orjson.loads(response.choices[0].message.content) == VERDICT
        assert response.usage.prompt_tokens_details.cached_tokens == 1920
        tokens = [entry.token for entry in response.choices[0].logprobs.content]
        assert "".join(tokens) == response.choices[0].message.content
        assert provider.count == 2


async def test_litellm_reads_a_stream_and_a_forced_call() -> None:
    with Provider(verdict) as provider:
        streamed = await complete(provider, stream=True)
        assert orjson.loads("".join([chunk.choices[0].delta.content or "" async for chunk in streamed])) == VERDICT
        call = (await complete(provider, **FORCED)).choices[0].message.tool_calls[0]
        assert orjson.loads(call.function.arguments) == VERDICT


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (rate_limited(2), "RateLimitError"),
        (INSUFFICIENT_QUOTA, "RateLimitError"),
        (SERVER_ERROR, "InternalServerError"),
        (BAD_GATEWAY, "BadGatewayError"),
        (UNAVAILABLE, "ServiceUnavailableError"),
        (CONTEXT_TOO_LONG, "ContextWindowExceededError"),
        (NO_JSON_SCHEMA, "BadRequestError"),
        (FILTERED_PROMPT, "BadRequestError"),
        (UNAUTHORIZED, "AuthenticationError"),
        (NO_SUCH_MODEL, "NotFoundError"),
        (CUT_BEFORE, "InternalServerError"),
        (CUT_INSIDE, "InternalServerError"),
    ],
)
async def test_litellm_names_each_fault_and_asks_once(fault: Fault, name: str) -> None:
    with Provider(verdict, faults=every(1, fault)) as provider:
        with pytest.raises(Exception, match=r".*") as caught:
            await complete(provider)
        assert type(caught.value).__name__ == name
        assert provider.count == 1


async def test_litellm_hands_on_when_to_come_back() -> None:
    with Provider(verdict, faults=every(1, rate_limited(7))) as provider:
        with pytest.raises(Exception, match="Rate limit") as caught:
            await complete(provider)
        response: Any = caught.value
        assert response.response.headers["retry-after"] == "7"
