"""A runner makes a trial of whatever a target does: answer, leave files, break, hang, or answer nonsense."""

import json
import math
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import given

from stepjudge.runner import attempted
from stepjudge.targets import Assignment, BadTarget, Delivery
from stepjudge.targets.agent import AgentSpecification, AgentTarget, ReplyMapping
from stepjudge.targets.callable import CallableTarget, imported
from stepjudge.targets.model import ModelSpecification, ModelTarget
from stepjudge.targets.placeholder import filled, picked
from stepjudge.targets.target_file import opened_target, read_target_file
from stepjudge.task import Task
from stepjudge.trial import Measurements, Trial
from stepjudge.value import JsonObject

from fakes.provider import Provider
from suites import agent, chat
from traces import json_objects

TASK = Task(id="pump", inputs={"instruction": "Mend the pump.", "tries": 3}, reference={"answer": "42"})


async def answers(assignment: Assignment) -> Delivery:
    await anyio.Path(assignment.workspace, "mended.txt").write_text("yes")
    return Delivery(output_text="42", measurements=Measurements(prompt_tokens=3, completion_tokens=4))


async def says(assignment: Assignment) -> str:
    return f"{assignment.task_id} {assignment.trial} {assignment.inputs['tries']}"


async def breaks(assignment: Assignment) -> str:
    raise RuntimeError("no \x00 power")


async def hangs(assignment: Assignment) -> str:
    await anyio.Path(assignment.workspace, "begun.txt").write_text("yes")
    await anyio.sleep(math.inf)
    return "never"


def attempt(function: Any, folder: Path, timeout_s: float | None = None) -> Trial:
    async def run() -> Trial:
        return await attempted(CallableTarget(function), TASK, 2, folder / "work", timeout_s=timeout_s)

    return anyio.run(run)


def test_what_a_callable_delivers_is_the_trial(tmp_path: Path) -> None:
    trial = attempt(answers, tmp_path)

    assert (trial.id, trial.trial, trial.status, trial.output_text) == ("pump.2", 2, "completed", "42")
    assert trial.environment == str(tmp_path / "work")
    assert trial.measurements.total_tokens == 7
    assert trial.measurements.runtime_sec is not None


def test_a_callable_may_return_its_words_alone(tmp_path: Path) -> None:
    trial = attempt(says, tmp_path)
    assert (trial.output_text, trial.environment) == ("pump 2 3", None)


def test_what_a_callable_raises_is_a_failure_of_the_harness(tmp_path: Path) -> None:
    trial = attempt(breaks, tmp_path)

    assert trial.status == "failed"
    assert trial.error is not None
    assert (trial.error.type, trial.error.message) == ("RuntimeError", "no \x00 power")
    assert "in breaks" in (trial.error.traceback or "")


def test_an_attempt_that_takes_too_long_is_partial_and_what_it_left_is_kept(tmp_path: Path) -> None:
    trial = attempt(hangs, tmp_path, timeout_s=0.05)

    assert trial.status == "partial"
    assert trial.error is not None
    assert trial.error.type == "TimeLimit"
    assert trial.environment == str(tmp_path / "work")


def test_only_an_async_function_that_exists_is_imported() -> None:
    for name, told in [
        ("json:loads", "no async function"),
        ("json:nothing", "cannot be imported"),
        ("no_such_module:run", "cannot be imported"),
        ("json", "write module:function"),
    ]:
        with pytest.raises(BadTarget, match=told):
            imported(name)
    assert imported("anyio:sleep").specification == {"name": "anyio:sleep", "kind": "callable"}


def ask_model(chosen: ModelSpecification, folder: Path) -> Trial:
    async def run() -> Trial:
        async with httpx2.AsyncClient() as http:
            return await attempted(ModelTarget(chosen, http, "sk-1"), TASK, 1, folder / "work", timeout_s=None)

    return anyio.run(run)


def test_a_model_is_asked_for_one_completion_and_its_use_is_counted(tmp_path: Path) -> None:
    with Provider(lambda request: f"heard: {request.user}", api_key="sk-1") as provider:
        chosen = ModelSpecification(
            model="m", base_url=provider.base_url, system="Be brief.", parameters={"temperature": 0.5}
        )
        trial = ask_model(chosen, tmp_path)
        sent = provider.requests[0].body

    assert trial.output_text == "heard: Mend the pump."
    assert sent["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Mend the pump."},
    ]
    assert sent["temperature"] == 0.5
    assert trial.trace is not None
    assert [step.message for step in trial.trace.steps] == ["heard: Mend the pump."]
    assert trial.measurements.total_tokens == provider.usage.prompt_tokens + provider.usage.completion_tokens


def test_a_model_that_is_not_there_is_a_failure_of_the_harness(tmp_path: Path) -> None:
    trial = ask_model(ModelSpecification(model="m", base_url="http://127.0.0.1:9/v1"), tmp_path)
    assert trial.status == "failed"
    assert trial.error is not None
    assert "no answer from http://127.0.0.1:9/v1/chat/completions" in trial.error.message


def ask_agent(url: str, folder: Path, **fields: Any) -> Trial:
    chosen = AgentSpecification.model_validate({"name": "mender", "url": url, **fields})

    async def run() -> Trial:
        async with httpx2.AsyncClient() as http:
            target = AgentTarget(chosen, http, {"authorization": "Bearer secret"})
            return await attempted(target, TASK, 1, folder / "work", timeout_s=None)

    return anyio.run(run)


def test_an_agent_is_asked_by_a_template_and_understood_by_a_mapping(tmp_path: Path) -> None:
    answer = {"result": [{"text": "42", "log": chat("42")}], "use": {"in": 5, "usd": 0.5}}
    mapping = {
        "output_text": "result.0.text",
        "trace": "result.0.log",
        "measurements": {"prompt_tokens": "use.in", "cost_usd": "use.usd", "completion_tokens": "use.none"},
    }
    body = {"q": "{{ inputs.instruction }}", "n": "{{inputs.tries}}", "id": "{{ task_id }}/{{ trial }}"}
    with agent(lambda _: (200, answer)) as server:
        trial = ask_agent(server.url, tmp_path, body=body, reply=mapping)

    assert server.bodies == [{"q": "Mend the pump.", "n": 3, "id": "pump/1"}]
    assert trial.output_text == "42"
    assert trial.trace is not None
    assert len(trial.trace.steps) == 2
    assert (trial.measurements.prompt_tokens, trial.measurements.cost_usd) == (5, 0.5)


def test_a_busy_agent_is_asked_again_and_a_broken_one_is_not(tmp_path: Path) -> None:
    statuses = iter([429, 503, 200, 500])
    with agent(lambda _: (next(statuses), {"output_text": "42"})) as server:
        assert ask_agent(server.url, tmp_path).output_text == "42"
        broken = ask_agent(server.url, tmp_path)
    assert broken.error is not None
    assert "answered 500" in broken.error.message
    assert len(server.received) == 4


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({}, "nothing stands at 'output_text': the keys there are none"),
        ([], "nothing stands at 'output_text': there is a list before it"),
        (b"<html>", "answered no JSON"),
        ({"output_text": {"a": 1}}, "does not fit the mapping"),
        ({"output_text": "x", "trace": {"steps": 1}}, "trace cannot be read"),
        ({"output_text": "x", "status": "great"}, "does not fit the mapping"),
        ({"error": "out of memory", "status": "failed"}, "out of memory"),
    ],
)
def test_a_reply_that_is_no_answer_is_a_failure_that_says_why(tmp_path: Path, reply: Any, told: str) -> None:
    names = ("trace", "status", "error")
    present = {name: name for name in names if not isinstance(reply, bytes) and name in reply}

    def answer(_: object) -> tuple[int, Any]:
        return 200, reply

    with agent(answer) as server:
        trial = ask_agent(server.url, tmp_path, reply={"output_text": "output_text", **present})
    assert trial.status == "failed"
    assert trial.error is not None
    assert told in trial.error.message


@given(json_objects)
def test_what_is_filled_in_is_never_looked_at_again(values: JsonObject) -> None:
    hostile: JsonObject = {"inputs": {"x": "{{ secret }}", "all": values}, "secret": "s"}
    assert filled({"a": "{{ inputs.x }}", "b": "<{{inputs.x}}>"}, hostile) == {
        "a": "{{ secret }}",
        "b": "<{{ secret }}>",
    }
    assert filled("{{ inputs.all }}", hostile) == values


def test_a_path_that_leads_nowhere_says_how_far_it_led() -> None:
    with pytest.raises(BadTarget, match=r"nothing stands at 'a\.1': there is a list before it"):
        picked({"a": [0]}, "a.1.b")


def test_a_target_file_is_read_with_its_numbers_and_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "target.yaml"
    path.write_text("kind: model\nmodel: m\nbase_url: http://x/v1\nparameters: {temperature: 0.5}\n", encoding="utf-8")
    chosen = read_target_file(path)
    assert isinstance(chosen, ModelSpecification)
    assert chosen.parameters == {"temperature": 0.5}
    for text, told in [
        ("kind: callable\n", r"target\.yaml:1:7: 'kind' is 'callable'.*on the command line only"),
        ("kind: http\nname: x\nurl: y\nmethd: GET\n", r"target\.yaml:4:8: methd: Extra inputs"),
        ("kind: model\n", r"target\.yaml:1:1: model: Field required"),
    ]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(BadTarget, match=told):
            read_target_file(path)


def test_a_key_is_taken_from_the_environment_and_stands_in_no_specification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "target.yaml"
    path.write_text("kind: http\nname: x\nurl: http://x\nheaders_env: {x-key: MY_AGENT_KEY}\n", encoding="utf-8")

    async def specification() -> str:
        async with opened_target(str(path)) as target:
            return json.dumps(target.specification)

    with pytest.raises(BadTarget, match="there is no environment variable 'MY_AGENT_KEY'"):
        anyio.run(specification)
    monkeypatch.setenv("MY_AGENT_KEY", "very-secret")
    assert "very-secret" not in anyio.run(specification)


def test_the_mapping_of_a_reply_has_a_default() -> None:
    assert AgentSpecification(name="x", url="http://x").reply == ReplyMapping(output_text="output_text")
