"""Logs are lines: one for each request, with what an operator looks for; nobody who sends something can write one."""

import json
import logging
import uuid
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_service.logs import Lines
from judge_service.visit import visit_of

from fakes.faults import Fault, error_body, first
from fakes.provider import Provider
from killed import document
from replica import Replica
from scripted import always
from servers import eventually

REQUEST = "stepjudge.request"
FORGED = '\r\n{"level": "info", "logger": "stepjudge.request", "message": "forged"}\r\n'


def lines(replica: Replica) -> list[dict[str, Any]]:
    """The log, each line of which must be a JSON object."""
    return [json.loads(line) for line in replica.log.splitlines()]


def test_a_request_is_one_line_with_its_ids_its_outcome_and_its_verdicts(tmp_path: Path) -> None:
    with (
        Provider(always("yes")) as provider,
        Replica(tmp_path, log_format="json", judge="openai/fake", api_base=provider.base_url) as replica,
        httpx2.Client(base_url=replica.url, timeout=60) as http,
    ):
        ids = {"x-request-id": "r-1", "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
        http.post("/v1/score", json={"trace": document(1, 2)}, headers=ids)
        again = http.post("/v1/score", json={"trace": document(1, 3)})
        http.get("/v1/verdicts/secret-path?token=secret-query")
        eventually(lambda: replica.log.count(f'"{REQUEST}"') == 3)  # a line is written when its answer is out
        told = [each for each in lines(replica) if each["logger"] == REQUEST]

    first_, second, third = told
    assert isinstance(first_.pop("ms"), float)
    assert first_.pop("time").endswith("Z")
    assert first_ == {
        "level": "info",
        "logger": REQUEST,
        "message": "POST /v1/score 200",
        "request_id": "r-1",
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "key": None,
        "method": "POST",
        "route": "/v1/score",
        "status": 200,
        "verdicts": {"remembered": 0, "judged": 2},
        "undetermined": {},
        "cost_usd": 0.0,
    }
    assert second["verdicts"] == {"remembered": 2, "judged": 1}
    assert second["request_id"] == again.headers["x-request-id"] != "r-1"
    assert (third["route"], third["status"]) == ("/v1/verdicts/{verdict_id}", 404)
    assert "secret" not in json.dumps(told)


@pytest.mark.parametrize("form", ["json", "text"])
def test_what_callers_and_providers_send_makes_no_line_and_no_secret_gets_in(tmp_path: Path, form: str) -> None:
    secret = f"sk-{uuid.uuid4().hex}"
    echo = Fault("echo", 401, error_body(f"wrong key {secret}{FORGED}", kind="auth"))
    with (
        Provider(always("yes"), faults=first(1, echo)) as provider,
        Replica(
            tmp_path,
            log_format=form,
            log_level="debug",
            judge="openai/fake",
            api_base=provider.base_url,
            api_key=secret,
        ) as replica,
        httpx2.Client(base_url=replica.url, timeout=60) as http,
    ):
        http.post("/v1/score", json={"trace": document(1, 1), "judge": FORGED})
        http.post("/v1/score", json={"trace": document(1, 1), "rubric": FORGED})
        http.post("/v1/score", json={"trace": document(2, 1)})
        http.get("/v1/verdicts/%0d%0aforged%1b[31m")
        bad = {"x-request-id": "a b\tforged", "traceparent": "forged", "authorization": f"Bearer {secret}"}
        http.get("/v1/judges", headers=bad)
        log = replica.log
    assert secret not in log
    if form == "json":
        assert all(isinstance(json.loads(line), dict) for line in log.splitlines())
        assert "forged" not in [json.loads(line)["message"] for line in log.splitlines()]
    else:
        assert "\n{" not in log
        assert "\x1b" not in log
        assert "forged" not in log


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["json", "text"]))
def test_a_record_is_one_line_of_what_can_be_seen_whatever_it_says(message: str, field: str, form: Any) -> None:
    record = logging.makeLogRecord({"msg": "%s", "args": (message,), "fields": {"field": field}})
    line = Lines(form).format(record)
    assert len(line.splitlines()) == 1
    assert "\x1b" not in line
    if form == "json":
        told = json.loads(line)
        assert told["field"] == field or "…" in line


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_traceback_passes_for_nothing_else(form: Any) -> None:
    try:
        raise ValueError(FORGED)
    except ValueError as error:
        record = logging.makeLogRecord({"msg": "a bug", "exc_info": (ValueError, error, error.__traceback__)})
    written = Lines(form).format(record).splitlines()
    assert "ValueError" in written[-1] or form == "text"
    if form == "json":
        assert len(written) == 1
    else:
        assert all(line.startswith("    | ") for line in written[1:])


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_secret_in_a_librarys_words_is_cut_out(form: Any) -> None:
    record = logging.makeLogRecord({"msg": "cannot reach postgresql://me:hunter22@db/x with Bearer abcdefgh12345678"})
    line = Lines(form).format(record)
    assert "hunter22" not in line
    assert "abcdefgh12345678" not in line
    assert "hush-hush" not in Lines(form, ("hush-hush",)).format(logging.makeLogRecord({"msg": "it is hush-hush"}))


@pytest.mark.parametrize(
    ("given_id", "kept"),
    [("abc-1.2_3", True), ("a" * 128, True), ("a" * 129, False), ("a b", False), ("a\nb", False), ("", False)],
)
def test_a_callers_id_is_kept_where_it_is_one(given_id: str, kept: bool) -> None:
    assert (visit_of(given_id, None).request_id == given_id) is kept


@pytest.mark.parametrize(
    "traceparent", [None, "", "00-" + "0" * 32 + "-b7ad6b7169203331-01", "00-xyz-1-01", "forged\n"]
)
def test_a_trace_that_is_none_gets_an_id(traceparent: str | None) -> None:
    assert int(visit_of(None, traceparent).trace_id, 16) > 0
