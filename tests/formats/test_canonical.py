import pytest

from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_bytes, read_document
from stepjudge.trace import Step, Trace

ONE = Trace(trace_id="one", steps=(Step(index=1, turn=1, llm_call=1, message="é"),), notes=("a note",))
TWO = ONE.model_copy(update={"trace_id": "two"})


def test_what_was_written_is_read_back():
    assert list(read_bytes(ONE.model_dump_json(indent=1).encode())) == [ONE]


def test_lines_and_lists_of_traces_yield_them_all():
    lines = f"{ONE.model_dump_json()}\n\n{TWO.model_dump_json()}\n"
    assert list(read_bytes(lines.encode())) == [ONE, TWO]
    assert list(read_bytes(f"[{ONE.model_dump_json()},\n{TWO.model_dump_json()}]".encode())) == [ONE, TWO]
    assert list(read_document([ONE.model_dump(mode="json"), TWO.model_dump(mode="json")])) == [ONE, TWO]


def test_a_fault_is_named_by_its_path():
    document = ONE.model_dump(mode="json")
    document["steps"][0]["turn"] = 0
    with pytest.raises(UnreadableTrace, match=r"document: read as stepjudge: .*\$\.steps\[0\]\.turn: Input should be"):
        list(read_document(document))


def test_a_trace_without_steps_is_refused():
    with pytest.raises(UnreadableTrace, match="the trace has no steps"):
        list(read_document({"trace_id": "x", "steps": []}, format="stepjudge"))
