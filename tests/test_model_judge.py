"""The model judge, through the embedded service and both lines, against a provider that fails in every way."""

import logging
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from stepjudge.client import JudgeClient
from stepjudge.contract import Scorecard
from stepjudge.rubric_file import read_rubric_file, shipped
from stepjudge.verdict import Cause

from fakes.faults import (
    BAD_GATEWAY,
    CONTEXT_TOO_LONG,
    CUT_BEFORE,
    CUT_INSIDE,
    EMPTY,
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
    Policy,
    error_body,
    first,
    rate_limited,
)
from fakes.provider import Provider, Reply, Request
from scripted import Scripted, always

ONE_STEP = {
    "messages": [
        {"role": "user", "content": "What is the capital of Peru?"},
        {"role": "assistant", "content": "Lima is the capital of Peru."},
    ]
}

Score = Callable[..., Scorecard]


class Bench:
    """A provider, and a service that asks it."""

    def __init__(self, stack: ExitStack, data_dir: Path, via: str) -> None:
        self._stack = stack
        self._via = via
        self._data_dir = data_dir

    def open(self, script: Callable[[Request], Any], faults: Policy | None = None, **model: Any) -> JudgeClient:
        self.provider = self._stack.enter_context(Provider(script, faults=faults))
        judge = {
            "model": "openai/fake",
            "api_base": self.provider.base_url,
            "timeout_s": 5.0,
            "via": self._via,
            **model,
        }
        settings = {"data_dir": self._data_dir, "judge": "fake", "judges": {"fake": judge}}
        return self._stack.enter_context(JudgeClient.embedded(**settings))

    def score(self, script: Callable[[Request], Any], faults: Policy | None = None, **model: Any) -> Scorecard:
        return self.open(script, faults, **model).score(ONE_STEP)


@pytest.fixture(params=["direct", "litellm"])
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    with ExitStack() as stack:
        yield Bench(stack, tmp_path, request.param)


CONTRADICTORY = Scripted(lambda _step, _unit, name: {"valid": "no", "recovery": "not_applicable"}.get(name, "yes"))


def causes(card: Scorecard) -> set[Cause]:
    """Why answers are undetermined, of those that were asked of the model."""
    return set(card.causes)


PASSING = {
    "rate limited": RATE_LIMITED,
    "rate limited for seconds": rate_limited(0.3),
    "rate limited for milliseconds": rate_limited(0.3, "ms"),
    "rate limited until a date": rate_limited(1, "date"),
    **{fault.name: fault for fault in (SERVER_ERROR, BAD_GATEWAY, UNAVAILABLE, OVERLOADED, CUT_BEFORE, CUT_INSIDE)},
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_what_may_pass_is_tried_again(bench: Bench, fault: Fault) -> None:
    card = bench.score(always("yes"), first(1, fault))

    assert card.undetermined == 0
    assert (bench.provider.count, card.requests) == (2, 2)


def test_the_wait_is_as_long_as_the_provider_asks(bench: Bench) -> None:
    bench.score(always("yes"), first(1, rate_limited(0.7)))

    refused, answered = bench.provider.exchanges
    assert answered.received - (refused.answered or refused.received) >= 0.7


def test_a_provider_that_asks_for_a_longer_wait_than_allowed_is_not_asked_again(bench: Bench) -> None:
    card = bench.score(always("yes"), first(1, rate_limited(500)), max_wait_s=5.0)

    assert causes(card) == {"provider"}
    assert bench.provider.count == 1


def test_a_hanging_provider_is_left_and_tried_again(bench: Bench) -> None:
    card = bench.score(always("yes"), first(1, HANG), timeout_s=0.5)

    assert card.undetermined == 0
    assert bench.provider.count == 2


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (UNAUTHORIZED, "rejected"),
        (NO_SUCH_MODEL, "rejected"),
        (INSUFFICIENT_QUOTA, "rejected"),
        (CONTEXT_TOO_LONG, "context_too_long"),
        (FILTERED_PROMPT, "content_filter"),
        (FILTERED, "content_filter"),
        (REFUSAL, "refusal"),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else value,
)
def test_what_cannot_pass_is_asked_once_and_has_its_cause(bench: Bench, fault: Fault, cause: Cause) -> None:
    card = bench.score(always("yes"), first(1_000, fault))

    assert causes(card) == {cause}
    assert bench.provider.count == 1
    assert card.steps[0].passes is None


def test_a_provider_that_stays_down_gives_no_verdict_and_nothing_is_remembered(bench: Bench) -> None:
    client = bench.open(always("yes"), first(2, SERVER_ERROR), attempts=2)

    assert causes(client.score(ONE_STEP)) == {"provider"}
    assert client.score(ONE_STEP).undetermined == 0
    assert bench.provider.statuses == {500: 2, 200: 1}


@pytest.mark.parametrize("fault", [NOT_JSON, WRONG_SCHEMA, EMPTY, TRUNCATED], ids=lambda fault: fault.name)
def test_one_bad_reply_is_asked_again_with_what_was_wrong(bench: Bench, fault: Fault) -> None:
    card = bench.score(always("yes"), first(1, fault))

    assert card.undetermined == 0
    _, again = bench.provider.requests
    assert [message["role"] for message in again.messages] == ["system", "user", "assistant", "user"]
    assert "cannot be accepted" in again.messages[-1]["content"]


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (NOT_JSON, "malformed_reply"),
        (WRONG_SCHEMA, "malformed_reply"),
        (EMPTY, "malformed_reply"),
        (TRUNCATED, "truncated_reply"),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else value,
)
def test_an_unreadable_reply_abstains_and_is_not_remembered(bench: Bench, fault: Fault, cause: Cause) -> None:
    client = bench.open(always("yes"), first(2, fault))

    card = client.score(ONE_STEP)
    assert causes(card) == {cause}
    assert bench.provider.count == 2
    assert client.score(ONE_STEP).undetermined == 0
    record = client.audit(card.steps[0].verdict_id).record
    assert len(record.exchanges) == 2, "the raw replies are kept, although no answer came of them"


def test_answers_of_a_reply_that_lacks_one_are_kept(bench: Bench) -> None:
    def forgetful(request: Request) -> dict[str, Any]:
        reply = always("yes")(request)
        del reply["act_1"]["useful"]
        return reply

    card = bench.score(forgetful)

    assert card.steps[0].answers["valid"] == "yes"
    assert (card.steps[0].answers["useful"], card.causes) == ("undetermined", {"malformed_reply": 1})


def test_a_contradiction_is_asked_again_and_may_be_mended(bench: Bench) -> None:
    def wavering(request: Request) -> dict[str, Any]:
        return (CONTRADICTORY if request.number == 1 else always("no"))(request)

    card = bench.score(wavering)

    assert bench.provider.count == 2
    assert "that cannot be" in bench.provider.requests[1].messages[-1]["content"]
    assert card.steps[0].score == -1


def test_a_contradiction_that_stays_is_undetermined_on_both_sides(bench: Bench) -> None:
    card = bench.score(CONTRADICTORY)

    assert bench.provider.count == 2
    answers = card.steps[0].answers
    assert (answers["valid"], answers["useful"]) == ("undetermined", "undetermined")
    assert answers["relevant"] == "yes", "nothing contradicts it"
    assert causes(card) == {"contradiction"}


def test_a_quote_that_does_not_stand_is_asked_again_then_kept_and_flagged(bench: Bench) -> None:
    invented = {"answer": "yes", "evidence": [{"place": "s1.message", "quote": "Quito is the capital"}]}
    card = bench.score(Scripted(lambda _s, _u, name: "not_applicable" if name == "recovery" else invented))

    assert bench.provider.count == 2
    assert "does not stand" in bench.provider.requests[1].messages[-1]["content"]
    assert card.steps[0].passes is True
    assert card.ungrounded == 3


def test_a_model_without_json_schema_is_held_by_a_forced_tool(bench: Bench) -> None:
    client = bench.open(always("yes"), lambda request: NO_JSON_SCHEMA if request.body.get("response_format") else None)

    card = client.score(ONE_STEP)
    assert card.undetermined == 0
    assert client.audit(card.steps[0].verdict_id).record.exchanges[0]["mode"] == "tool"
    longer = {"messages": [*ONE_STEP["messages"], {"role": "assistant", "content": "Anything else?"}]}
    client.score(longer)
    assert bench.provider.count == 3, "what the provider turned down is not tried again"


def test_a_model_without_schema_or_tools_is_asked_for_json_and_its_reply_is_repaired(bench: Bench) -> None:
    no_tools = Fault(
        "no_tools", 400, error_body("tools is not supported with this model", kind="invalid_request_error")
    )

    def refused(request: Request) -> Fault | None:
        if request.body.get("tools"):
            return no_tools
        return NO_JSON_SCHEMA if request.schema else None

    def sloppy(request: Request) -> str:
        return "```json\n" + str(always("yes")(request)) + ",\n```"  # single quotes and a stray comma

    card = bench.score(sloppy, refused)
    assert card.undetermined == 0
    assert bench.provider.requests[-1].body["response_format"] == {"type": "json_object"}


def test_a_parameter_that_the_provider_turns_down_is_dropped_and_recorded(bench: Bench) -> None:
    fussy = Fault(
        "fussy", 400, error_body("'temperature' does not support 0 with this model.", kind="invalid_request_error")
    )
    client = bench.open(always("yes"), lambda request: fussy if "temperature" in request.body else None)

    card = client.score(ONE_STEP)
    assert card.undetermined == 0
    assert client.audit(card.steps[0].verdict_id).record.exchanges[0]["dropped"] == ["temperature"]


def test_unlikely_answers_have_low_confidence(bench: Bench) -> None:
    def unsure(token: str, _offset: int) -> dict[str, float]:
        return {"yes": 0.6, "no": 0.3, "und": 0.1} if token == "yes" else {}

    card = bench.score(lambda request: Reply(content=always("yes")(request), logprobs=unsure))

    assert {round(answer.confidence or 0, 2) for answer in card.steps[0].details if answer.answer == "yes"} == {0.6}


def test_what_was_asked_and_answered_is_on_record(bench: Bench) -> None:
    client = bench.open(always("yes"), input_cost_per_token=1e-6, output_cost_per_token=2e-6)

    card = client.score(ONE_STEP)
    audit = client.audit(card.steps[0].verdict_id)

    request = bench.provider.requests[0]
    assert audit.prompts == (f"{request.system}\n{request.user}",)
    assert (audit.prompt_matches, audit.state_matches) == (True, True)
    usage, spent = bench.provider.usage, audit.record.verdict.spent
    assert (spent.prompt_tokens, spent.completion_tokens) == (usage.prompt_tokens, usage.completion_tokens)
    assert card.cost_usd == pytest.approx(usage.prompt_tokens * 1e-6 + usage.completion_tokens * 2e-6)
    assert audit.record.judge["model"] == "openai/fake"


def test_a_price_that_is_not_known_is_unknown_and_not_zero(bench: Bench) -> None:
    assert bench.score(always("yes")).cost_usd is None


def test_a_try_that_may_have_been_billed_makes_the_cost_unknown(bench: Bench) -> None:
    card = bench.score(
        always("yes"), first(1, HANG), timeout_s=0.5, input_cost_per_token=1e-6, output_cost_per_token=1e-6
    )

    assert card.undetermined == 0
    assert card.cost_usd is None, "the provider may have answered after we left"


def test_nothing_is_asked_beyond_the_budget(bench: Bench) -> None:
    client = bench.open(always("yes"), input_cost_per_token=1e-4, output_cost_per_token=1e-4, max_tokens=400)
    trace = {"messages": ONE_STEP["messages"] * 5}

    card = client.score(trace, max_cost_usd=0.8)

    assert card.cost_usd is not None
    assert 0.3 < card.cost_usd <= 0.8
    assert causes(card) == {"budget"}
    assert {step.passes for step in card.steps} == {True, None}
    richer = client.score(trace, max_cost_usd=1_000)
    assert richer.cached_steps == sum(step.passes is True for step in card.steps), "what was paid for is remembered"
    assert richer.cost_usd is not None
    assert 0 < richer.cost_usd <= 1.0, "the service's own limit holds"


def test_a_key_goes_to_its_own_address_and_nowhere_on_record(bench: Bench, tmp_path: Path) -> None:
    client = bench.open(always("yes"), api_key="sk-very-secret-key")

    card = client.score(ONE_STEP)

    assert bench.provider.requests[0].headers["authorization"] == "Bearer sk-very-secret-key"
    assert "very-secret" not in client.audit(card.steps[0].verdict_id).model_dump_json()
    assert "very-secret" not in "".join(judge.model_dump_json() for judge in client.judges())
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"very-secret" in path.read_bytes()]


def test_a_rubric_that_asks_each_criterion_alone_is_audited_prompt_by_prompt(bench: Bench) -> None:
    step = read_rubric_file(shipped() / "step" / "1.0.0.yaml")
    alone = step.model_copy(update={"version": "1.0.1", "ask": "criterion"})
    client = bench.open(always("yes"))

    card = client.score(ONE_STEP, rubric=alone)
    whole = client.audit(card.steps[0].verdict_id)
    audits = [client.audit(vote.verdict_id) for vote in whole.record.votes]

    sent = [f"{request.system}\n{request.user}" for request in bench.provider.requests]
    assert sorted(prompt for audit in audits for prompt in audit.prompts) == sorted(sent)
    assert [vote.member for vote in whole.record.votes] == ["valid", "relevant", "useful"]
    assert {(audit.prompt_matches, audit.state_matches) for audit in audits} == {(True, True)}


@pytest.mark.parametrize("first_reply", ["contradictory", "invented"])
def test_a_verdict_whose_re_ask_failed_for_now_is_not_remembered(bench: Bench, first_reply: str) -> None:
    invented = {"answer": "yes", "evidence": [{"place": "s1.message", "quote": "Quito"}]}
    scripts = {
        "contradictory": CONTRADICTORY,
        "invented": Scripted(lambda _s, _u, name: "not_applicable" if name == "recovery" else invented),
    }

    def changing(request: Request) -> dict[str, Any]:
        return (scripts[first_reply] if request.number == 1 else always("yes"))(request)

    client = bench.open(changing, lambda request: SERVER_ERROR if request.number == 2 else None, attempts=1)
    unfinished, finished = client.score(ONE_STEP), client.score(ONE_STEP)

    assert client.audit(unfinished.steps[0].verdict_id).record.verdict.unfinished == "provider"
    assert (finished.cached_steps, finished.undetermined, finished.ungrounded) == (0, 0, 0)


def test_private_reasoning_that_no_judge_reads_is_no_part_of_the_key(bench: Bench) -> None:
    def thinking(reasoning: str) -> dict[str, Any]:
        question, answer = ONE_STEP["messages"]
        return {"messages": [question, {**answer, "reasoning_content": reasoning}]}

    step = read_rubric_file(shipped() / "step" / "1.0.0.yaml")
    reader = step.model_copy(update={"version": "1.0.1", "shows_reasoning": True})
    client = bench.open(always("yes"))
    cached = [client.score(thinking(text)).cached_steps for text in ("I recall Lima.", "Is it Quito?")]
    read = [client.score(thinking(text), rubric=reader).cached_steps for text in ("I recall Lima.", "Is it Quito?")]

    assert (cached, read) == ([0, 1], [0, 0])


def test_only_the_cuts_of_a_step_are_listed_with_it_and_earlier_ones_are_counted(bench: Bench) -> None:
    said = [{"role": "assistant", "content": f"{number} " + "words " * 6_000} for number in range(4)]
    client = bench.open(always("yes"))
    card = client.score({"messages": [ONE_STEP["messages"][0], *said]})
    last = client.audit(card.steps[-1].verdict_id)

    assert [len(step.cuts) for step in card.steps] == [1, 1, 1, 1]
    assert last.record.verdict.earlier_cuts == 3
    assert [cut.place for cut in last.cuts] == ["s1.message", "s2.message", "s3.message", "s4.message"]


def test_a_key_that_the_provider_echoes_stands_nowhere(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = "zq-VERYSECRET-123"
    forms = [key, quote(key, safe=""), b64encode(f"user:{key}".encode()).decode(), b64encode(key.encode()).decode()]
    says = f"You sent {forms[0]} / {forms[1]} / Basic {forms[2]} / {forms[3]}"
    echo = Fault("echo", 401, error_body(says, kind="invalid_request_error"))
    with caplog.at_level(logging.DEBUG):
        client = bench.open(always("yes"), first(9, echo), api_key=key)
        card = client.score(ONE_STEP)
        audit = client.audit(card.steps[0].verdict_id)

    assert causes(card) == {"rejected"}
    assert "You sent …" in (card.steps[0].details[0].reason or "")
    told = card.model_dump_json() + audit.model_dump_json() + caplog.text
    told += "".join(path.read_bytes().decode(errors="replace") for path in tmp_path.rglob("*") if path.is_file())
    assert [form for form in forms if form in told] == []


def test_a_parameter_is_asked_for_again_when_leaving_it_out_did_not_help(bench: Bench) -> None:
    passing = Fault("passing", 400, error_body("temperature: try later", kind="invalid_request_error"))
    client = bench.open(always("yes"), lambda request: {1: passing, 2: UNAUTHORIZED}.get(request.number))

    assert causes(client.score(ONE_STEP)) == {"rejected"}
    assert client.score(ONE_STEP).undetermined == 0
    assert ["temperature" in request.body for request in bench.provider.requests] == [True, False, True]
