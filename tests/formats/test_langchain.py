import pytest
from pydantic import JsonValue

from formats.recorded import PARALLEL, assert_is_the_article, errors, names, only, states
from formats.shared_traces import WHY, files
from stepjudge.formats import read_document
from stepjudge.trace import Call, Result, Trace, Usage

RECORDED = files("langchain")


def read(*messages: JsonValue) -> Trace:
    (trace,) = read_document([HUMAN, *messages])
    assert trace.source_format == "langchain"
    return trace


def ai(content: JsonValue = "", *calls: JsonValue, **fields: JsonValue) -> JsonValue:
    return {"type": "ai", "content": content, "tool_calls": list(calls), "response_metadata": {}, **fields}


def call(id: str = "a", name: str = "look", **args: JsonValue) -> JsonValue:
    return {"type": "tool_call", "name": name, "args": args, "id": id}


def tool(content: JsonValue, id: str = "a", **fields: JsonValue) -> JsonValue:
    return {"type": "tool", "content": content, "tool_call_id": id, "name": "look", **fields}


HUMAN: JsonValue = {"type": "human", "content": "fix it"}


def to_dict(message: JsonValue) -> JsonValue:
    assert isinstance(message, dict)
    return {"type": message["type"], "data": message}


def dumped(message: JsonValue) -> JsonValue:
    assert isinstance(message, dict)
    name = {"human": "HumanMessage", "ai": "AIMessageChunk", "tool": "ToolMessage"}[str(message["type"])]
    kwargs = {key: value for key, value in message.items() if key != "type"}
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": kwargs}


def test_the_three_shapes_and_the_states_that_hold_them_tell_the_same():
    messages: list[JsonValue] = [HUMAN, ai("see", call(q=1)), tool("A"), ai("done")]
    documents: list[JsonValue] = [
        messages,
        [to_dict(each) for each in messages],
        [dumped(each) for each in messages],
        {"messages": messages},
        {"values": {"messages": messages}, "next": []},
        {"channel_values": {"messages": messages}},
    ]
    found = [next(iter(read_document(each))) for each in documents]
    assert {each.source_format for each in found} == {"langchain"}
    assert [each.steps for each in found] == [found[0].steps] * len(found)
    assert found[0].steps[0].calls == (
        Call(name="look", id="a", arguments={"q": 1}, result=Result(text="A", state="present")),
    )


def test_the_status_of_a_tool_message_is_the_error_signal_and_without_one_it_is_unknown():
    calls = [call("a"), call("b"), call("c"), call("d")]
    trace = read(ai("", *calls), tool("x", "b", status="error"), tool("", "a", status="success"), tool("y", "c"))
    assert errors(trace) == [False, True, None, None]
    assert states(trace) == ["empty", "present", "present", "missing"]


def test_calls_that_did_not_parse_keep_their_text_and_their_place():
    broken: JsonValue = {"type": "invalid_tool_call", "name": "look", "args": '{"q": ', "id": "b", "error": "cut"}
    own: JsonValue = {"tool_calls": [{"id": "b"}, {"id": "a"}]}
    step = read(ai("", call("a"), invalid_tool_calls=[broken], additional_kwargs=own)).steps[0]
    assert [(each.id, each.arguments_state, each.arguments_raw) for each in step.calls] == [
        ("b", "unparsed", '{"q": '),
        ("a", "ok", None),
    ]


def test_calls_within_the_content_are_told_once_and_reasoning_is_kept_apart():
    content: JsonValue = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "see"},
        {"type": "tool_use", "id": "a", "name": "look", "input": {}},
    ]
    step = read(ai(content, call("a"))).steps[0]
    assert (step.message, step.reasoning, len(step.calls)) == ("see", "hm", 1)


def test_usage_and_model_are_carried():
    usage: JsonValue = {"input_tokens": 9, "output_tokens": 2, "input_token_details": {"cache_read": 4}}
    step = read(ai("ok", usage_metadata=usage, response_metadata={"model_name": "m"})).steps[0]
    assert (step.model, step.usage) == ("m", Usage(prompt_tokens=9, cached_tokens=4, completion_tokens=2))


def test_agents_keep_their_names_and_a_later_question_opens_a_turn():
    trace = read(ai("one", name="planner"), HUMAN, ai("two", name="coder"))
    assert [(step.agent, step.turn) for step in trace.steps] == [("planner", 1), ("coder", 2)]


def test_what_the_model_did_not_see_is_noted():
    messages: list[JsonValue] = [
        ai("", call()),
        tool("x", artifact={"rows": 3}),
        {"type": "remove", "id": "1", "content": ""},
        "stray",
    ]
    (trace,) = read_document(messages, format="langchain")
    assert len(trace.notes) == 3
    assert [message.text for message in trace.after] == ["stray"]


@pytest.mark.skipif(not RECORDED, reason=WHY)
def test_recordings_tell_the_published_run():
    for path in RECORDED:
        trace = only(path, "langchain")
        if "article" in path.name:
            assert_is_the_article(trace)
            assert [len(step.calls) for step in trace.steps] == [1] * 7 + [0]
        else:
            assert names(trace) == [*PARALLEL, ()]
        assert set(states(trace)) == {"present"}
        assert set(errors(trace)) == {False}
