"""The reference is for graders: nothing of it reaches the agent that is asked, or the judge's prompt."""

from pathlib import Path
from typing import Any

import pytest

from stepjudge.bundle import read_bundle
from stepjudge.targets import Assignment

from fakes.provider import Provider
from scripted import always
from suites import MARKER, Evaluate, agent, chat, task, write_suite

TASK = task(
    reference={"answer": "42", "key": MARKER, MARKER: [MARKER]},
    intent=f"The grader looks for {MARKER}.",
    metadata={"solution": MARKER},
    checks=[
        {"name": "right", "kind": "final-output", "reference": "$.answer"},
        {"name": "not-quoted", "kind": "final-output", "how": "regex", "expected": f"{MARKER}|42"},
    ],
)


@pytest.fixture
def evaluate(tmp_path: Path) -> Evaluate:
    write_suite(tmp_path / "suite", TASK)
    return Evaluate(tmp_path)


def everything(provider: Provider) -> str:
    return "\n".join(f"{request.headers} {request.body!r}" for request in provider.requests)


def test_no_request_to_an_agent_or_a_judge_holds_it(evaluate: Evaluate, tmp_path: Path) -> None:
    with Provider(always("yes")) as judge, agent(lambda _: (200, {"text": "42", "log": chat("42")})) as server:
        (tmp_path / "agent.yaml").write_text(
            f"kind: http\nname: mender\nurl: {server.url}\n"
            'body: {task: "{{ task_id }}", trial: "{{ trial }}", all: "{{ inputs }}", at: "{{ workspace }}"}\n'
            "reply: {output_text: text, trace: log}\n",
            encoding="utf-8",
        )
        flags = ("--judge", "openai/scripted", "--api-base", judge.base_url)
        evaluate("suite", "--target", "agent.yaml", "--passes", 2, "-o", "run", *flags)
        asked = everything(judge)

    assert len(server.received) == 2
    assert "Mend the pump." in server.received[0]
    assert judge.count >= 2
    assert "the motor is loose" in asked
    assert MARKER not in "".join(server.received)
    assert MARKER not in asked
    assert [score.success for score in read_bundle(tmp_path / "run").scores] == [True, True]


@pytest.mark.parametrize("placeholder", ["reference", "reference.key", "intent", "metadata", "checks"])
def test_no_template_can_ask_for_it(evaluate: Evaluate, tmp_path: Path, placeholder: str) -> None:
    with agent(lambda _: (200, {"output_text": "42"})) as server:
        (tmp_path / "agent.yaml").write_text(
            f'kind: http\nname: mender\nurl: {server.url}\nbody: "{{{{ {placeholder} }}}}"\n', encoding="utf-8"
        )
        evaluate("suite", "--target", "agent.yaml", "-o", "run", "--no-judge")

    assert server.received == []
    [trial] = read_bundle(tmp_path / "run").trials
    assert trial.status == "failed"
    assert trial.error is not None
    assert f"nothing stands at {placeholder.partition('.')[0]!r}" in trial.error.message


def test_no_request_to_a_model_holds_it(evaluate: Evaluate, tmp_path: Path) -> None:
    with Provider(lambda _: "42") as model:
        (tmp_path / "model.yaml").write_text(f"kind: model\nmodel: m\nbase_url: {model.base_url}\n", encoding="utf-8")
        evaluate("suite", "--target", "model.yaml", "-o", "run")
        asked = everything(model)

    assert "Mend the pump." in asked
    assert MARKER not in asked


def test_a_callable_is_given_nothing_that_holds_it(evaluate: Evaluate, tmp_path: Path) -> None:
    (tmp_path / "mender.py").write_text(
        "async def run(assignment):\n    return assignment.model_dump_json() + repr(vars(assignment))\n",
        encoding="utf-8",
    )
    evaluate("suite", "--target", "mender:run", "-o", "run", "--no-judge")
    [trial] = read_bundle(tmp_path / "run").trials

    assert "Mend the pump." in (trial.output_text or "")
    assert MARKER not in (trial.output_text or "")


def test_an_assignment_has_no_place_for_it() -> None:
    fields: dict[str, Any] = dict(Assignment.model_fields)
    assert set(fields) == {"task_id", "trial", "inputs", "workspace"}
