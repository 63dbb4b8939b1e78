"""Arize Phoenix evals: data frames in, data frames with scores out, and the annotations that Phoenix makes of them."""

from collections.abc import Iterator

import pytest

from hosted import CONCURRENCY, Hosted, hosted

SCRIPT = """
import asyncio, json, sys
import pandas
from phoenix.evals import async_evaluate_dataframe, bind_evaluator, evaluate_dataframe
from phoenix.evals.utils import to_annotation_dataframe
from stepjudge.adapters.phoenix import StepEvaluator, traces_of

url, dead = sys.argv[1:]
documents = json.load(open("documents.json"))
ours = StepEvaluator(url=url)

def plain(frame):
    return json.loads(frame.drop(columns="trace", errors="ignore").to_json(orient="records"))

table = pandas.DataFrame(
    {"trace": [*documents.values(), json.dumps(documents["small"]), "nothing"], "span_id": list("abcde")}
)
first = evaluate_dataframe(dataframe=table, evaluators=[ours], hide_tqdm_bar=True)
again = evaluate_dataframe(dataframe=table[:3], evaluators=[ours], hide_tqdm_bar=True)
broken = evaluate_dataframe(dataframe=table[2:3], evaluators=[StepEvaluator(url=dead)], hide_tqdm_bar=True)
nowhere = evaluate_dataframe(dataframe=table[:1], evaluators=[StepEvaluator(url="http://127.0.0.1:9")], hide_tqdm_bar=True, max_retries=1)

def short(number):
    return {"messages": [{"role": "user", "content": f"What is {number} + 1?"}, {"role": "assistant", "content": f"{number + 1}"}]}

several = pandas.DataFrame({"log": [short(number) for number in range(100)]})
bound = bind_evaluator(evaluator=StepEvaluator(url=url), input_mapping={"trace": "log"})
hundred = asyncio.run(async_evaluate_dataframe(dataframe=several, evaluators=[bound], hide_tqdm_bar=True, concurrency=100))

def span(id, parent, kind, **stated):
    named = {f"attributes.{key.replace('__', '.')}": value for key, value in stated.items()}
    return {"context.trace_id": "t1", "context.span_id": id, "parent_id": parent, "name": kind.lower(), "span_kind": kind,
            "status_code": "OK", "start_time": pandas.Timestamp(f"2026-01-01T00:00:0{id[-1]}Z"),
            "attributes.openinference.span.kind": kind, **named}

asked = [{"message.role": "user", "message.content": "Weather?"}]
call = {"tool_call.id": "a", "tool_call.function.name": "weather", "tool_call.function.arguments": '{"city": "Lima"}'}
spans = pandas.DataFrame([
    span("s1", None, "AGENT"),
    span("s2", "s1", "LLM", llm__input_messages=asked,
         llm__output_messages=[{"message.role": "assistant", "message.tool_calls": [call]}]),
    span("s3", "s1", "TOOL", tool__name="weather", input__value='{"city": "Lima"}', output__value="18 degrees"),
    span("s4", "s1", "LLM", llm__input_messages=asked,
         llm__output_messages=[{"message.role": "assistant", "message.content": "18 degrees."}]),
]).set_index("context.span_id", drop=False)
from_spans = evaluate_dataframe(dataframe=traces_of(spans), evaluators=[ours], hide_tqdm_bar=True)

said = {
    "described": {key: ours.describe()[key] for key in ("name", "kind", "direction")},
    "first": plain(first),
    "again": plain(again),
    "annotations": plain(to_annotation_dataframe(dataframe=first)),
    "broken": plain(broken),
    "nowhere": plain(nowhere),
    "hundred": [each["step_level_score"]["score"] for each in plain(hundred)],
    "from_spans": plain(to_annotation_dataframe(dataframe=from_spans)),
}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    with hosted("phoenix", SCRIPT, "adapters/phoenix.md", tmp_path_factory.mktemp("phoenix")) as run:
        yield run


def test_the_data_frame_has_a_score_object_for_every_score(run: Hosted) -> None:
    rows = run.said["first"]
    found = [row["step_level_score"].get("score") for row in rows]
    assert found == [7 / 8, 3 / 6, pytest.approx(2 / 3), pytest.approx(2 / 3), None]
    score = rows[1]["tool_call_precision_score"]
    assert (score["score"], score["kind"], score["direction"]) == (0.4, "llm", "maximize")
    assert rows[1]["undetermined_score"]["direction"] == "minimize"
    assert rows[1]["recovery_rate_score"]["label"] == "not_scored", "museum has no setback that was recovered from"


def test_the_headline_explains_and_holds_every_step(run: Hosted) -> None:
    score = run.said["first"][2]["step_level_score"]
    assert "scripted: step 2 brought nothing that was needed" in score["explanation"]
    assert [step["answers"]["useful"] for step in score["metadata"]["steps"]] == ["yes", "no", "yes"]


def test_a_second_run_is_free(run: Hosted) -> None:
    assert [row["step_level_score"]["metadata"]["requests"] for row in run.said["again"]] == [0, 0, 0]


def test_annotations_carry_label_and_explanation_also_where_there_is_no_score(run: Hosted) -> None:
    headline = [row for row in run.said["annotations"] if row["annotation_name"] == "step_level"]
    assert [(row["span_id"], row["score"], row["label"]) for row in headline][3:] == [
        ("d", pytest.approx(2 / 3), None),
        ("e", None, "not_scored"),
    ]
    assert headline[4]["explanation"].startswith("unreadable: ")


def test_a_dead_judge_is_no_score_and_stops_no_other_row(run: Hosted) -> None:
    (row,) = run.said["broken"]
    assert "score" not in row["step_level_score"]
    assert row["step_level_score"]["metadata"]["not_scored"] == "judge_failed"
    assert row["stepjudge_execution_details"]["status"] == "COMPLETED"


def test_a_service_that_cannot_be_reached_is_tried_again_as_phoenix_was_told(run: Hosted) -> None:
    details = run.said["nowhere"][0]["stepjudge_execution_details"]
    assert (details["status"], len(details["exceptions"])) == ("FAILED", 2)


def test_a_hundred_at_once_hold_to_the_services_limits(run: Hosted) -> None:
    assert run.said["hundred"] == [1.0] * 100
    assert 1 < run.service.provider.in_flight_peak <= CONCURRENCY


def test_spans_of_a_project_are_scored_as_traces_and_annotate_their_root(run: Hosted) -> None:
    headline = next(row for row in run.said["from_spans"] if row["annotation_name"] == "step_level")
    assert (headline["span_id"], headline["score"]) == ("s1", 1 / 2)


def test_the_evaluator_describes_itself(run: Hosted) -> None:
    assert run.said["described"] == {"name": "stepjudge", "kind": "llm", "direction": "maximize"}


def test_the_documented_example_runs(run: Hosted) -> None:
    assert run.example.splitlines()[-1] == "step_level 0.5 None"
