import json

import pytest
from pydantic import JsonValue

from formats.shared_traces import LABELLED, WHY, files
from stepjudge.formats import read_bytes, read_document, read_file
from stepjudge.trace import Trace

REAL = files("agentprocessbench")
ROW: dict[str, JsonValue] = {
    "data_source": "qa",
    "query_index": 3,
    "sample_index": 1,
    "ground_truth": "secret",
    "messages": [
        {"role": "user", "content": "fix it"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]},
        {"role": "tool", "name": "look", "content": "seen"},
        {"role": "user", "content": "and?"},
        {"role": "assistant", "content": "done"},
    ],
    "tools": [{"type": "function", "function": {"name": "look"}}],
    "step_labels": {"1": 1, "4": -1},
    "final_label": -1,
}


def test_each_step_knows_its_message_and_labels_are_in_extra_only():
    (trace,) = read_document(ROW)
    assert (trace.source_format, trace.trace_id) == ("agent-process-bench", "qa:3:1")
    assert [step.extra for step in trace.steps] == [{"message_index": 1}, {"message_index": 4}]
    assert trace.extra["step_labels"] == ROW["step_labels"]
    assert trace.steps[0].calls[0].result.text == "seen"
    assert [tool.name for tool in trace.tools] == ["look"]
    read_by_judges = trace.model_copy(update={"extra": {}}).model_dump_json()
    assert "label" not in read_by_judges
    assert "secret" not in read_by_judges


def test_rows_are_read_one_by_one():
    lines = "\n".join(json.dumps({**ROW, "sample_index": number}) for number in range(3))
    assert [trace.trace_id for trace in read_bytes(lines.encode())] == ["qa:3:0", "qa:3:1", "qa:3:2"]


def labelled(trace: Trace) -> set[str]:
    return {str(step.extra["message_index"]) for step in trace.steps}


@pytest.mark.skipif(not REAL, reason=WHY)
def test_every_label_of_the_real_rows_has_its_step():
    for path in [*REAL, LABELLED / "hotpotqa.jsonl"]:
        for trace in read_file(path):
            assert trace.source_format == "agent-process-bench"
            assert isinstance(trace.extra["step_labels"], dict)
            assert labelled(trace) == trace.extra["step_labels"].keys()
