import pytest
from pydantic import JsonValue

from formats.recorded_runs import is_the_article_run, is_the_parallel_run, outcomes, read_every, shape
from formats.shared_traces import WHY, files
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_document
from stepjudge.trace import Message, Result, Trace, Usage


def read(*messages: JsonValue) -> Trace:
    """Detected, not named."""
    (trace,) = read_document(list(messages))
    assert trace.source_format == "pydantic-ai"
    return trace


def part(kind: str, content: JsonValue = None, **fields: JsonValue) -> JsonValue:
    return {"part_kind": kind, "content": content, **fields}


def call(id: str = "c", args: JsonValue = None, **fields: JsonValue) -> JsonValue:
    return {"part_kind": "tool-call", "tool_name": "look", "tool_call_id": id, "args": args or {}, **fields}


def back(content: JsonValue, id: str = "c", **fields: JsonValue) -> JsonValue:
    return part("tool-return", content, tool_name="look", tool_call_id=id, **fields)


def request(*parts: JsonValue, **fields: JsonValue) -> JsonValue:
    return {"kind": "request", "parts": list(parts), **fields}


def response(*parts: JsonValue, **fields: JsonValue) -> JsonValue:
    return {"kind": "response", "parts": list(parts), **fields}


def results(*parts: JsonValue) -> list[Result]:
    """What is read of the answers to the calls `a`, `b`, and so on."""
    calls = (call(id) for id in "abcdef"[: len(parts)])
    return [each.result for _, _, each in read(TASK, response(*calls), request(*parts)).calls()]


TASK = request(part("system-prompt", "be kind"), part("user-prompt", "fix it"))


def test_a_response_is_one_step_with_its_words_thoughts_calls_and_usage():
    usage: JsonValue = {"input_tokens": 9, "cache_read_tokens": 4, "output_tokens": 2, "cost": "0.25"}
    trace = read(TASK, response(part("thinking", "hm"), part("text", "I look"), call("a"), call("b", '{"q": 1}'),
                                usage=usage, model_name="m", timestamp="2026-01-01T00:00:00Z", run_id="r"))  # fmt: skip
    (step,) = trace.steps
    assert (trace.trace_id, trace.system, trace.task, trace.model) == ("r", "be kind", "fix it", "m")
    assert (step.reasoning, step.message, step.model) == ("hm", "I look", "m")
    assert step.usage == Usage(prompt_tokens=9, cached_tokens=4, completion_tokens=2, cost_usd=0.25)
    assert [(each.arguments, each.result.state) for each in step.calls] == [({}, "missing"), ({"q": 1}, "missing")]
    assert step.started_at == "2026-01-01T00:00:00Z"


def test_outcomes_tell_errors_and_their_kinds():
    retry: JsonValue = {"cause": "unknown_tool"}
    found = results(back("ok", "a", outcome="success"), back("no", "b", outcome="retried", retry=retry),
                    back("boom", "c", outcome="failed"), back("denied", "d", outcome="denied"), back("old", "e"))  # fmt: skip
    assert [(each.is_error, each.error_kind) for each in found] == [
        (False, None), (True, "unknown_tool"), (True, "tool_error"), (None, None), (False, None)]  # fmt: skip


def test_retry_prompts_of_older_versions_are_errors_of_their_call():
    errors: JsonValue = [{"type": "missing", "loc": ["q"], "msg": "Field required"}]
    found = results(part("retry-prompt", errors, tool_name="look", tool_call_id="a"),
                    part("retry-prompt", "try again", tool_name="look", tool_call_id="b"))  # fmt: skip
    assert [(each.is_error, each.error_kind) for each in found] == [(True, "bad_arguments"), (True, None)]
    assert "Field required" in found[0].text


def test_a_retry_that_answers_no_call_is_a_message_and_opens_no_turn():
    trace = read(TASK, response(part("text", "1")), request(part("retry-prompt", "plain text is not allowed")),
                 response(call()))  # fmt: skip
    assert shape(trace) == [(1, 0), (1, 1)]
    assert trace.steps[1].before == (Message(role="other", text="plain text is not allowed", name="retry"),)


def test_what_a_tool_returned_is_json_unless_it_is_text_or_holds_files():
    image: JsonValue = {"kind": "image-url", "url": "https://example.com/a.png"}
    found = results(back({"text": "a", "n": 1}, "a"), back([1, "b"], "b"), back(None, "c"), back(["see", image], "d"))
    assert [(each.text, each.state) for each in found] == [
        ('{"text":"a","n":1}', "present"), ('[1,"b"]', "present"), ("", "empty"), ("see", "present")]  # fmt: skip
    assert [each.kind for each in found[3].attachments] == ["image"]


def test_prompts_hold_files_and_open_turns():
    binary: JsonValue = {"kind": "binary", "data": "QUJD", "media_type": "image/png"}
    trace = read(request(part("user-prompt", ["see", binary, {"kind": "cache-point"}])), response(part("text", "ok")),
                 request(part("user-prompt", "more")), response(part("text", "ok")))  # fmt: skip
    assert (trace.task, [each.media_type for each in trace.task_attachments]) == ("see", ["image/png"])
    assert [step.turn for step in trace.steps] == [1, 2]


def test_instructions_that_do_not_change_are_told_once():
    trace = read(request(part("user-prompt", "x"), instructions="be kind"), response(call()),
                 request(back("y"), instructions="be kind"), response(part("text", "ok")))  # fmt: skip
    assert (trace.system, trace.steps[1].before) == ("be kind", ())


def test_tools_of_the_provider_have_call_and_return_in_one_response():
    search: JsonValue = {"part_kind": "builtin-tool-call", "tool_name": "web_search", "tool_call_id": "w", "args": {}}
    found: JsonValue = {"part_kind": "builtin-tool-return", "tool_name": "web_search", "tool_call_id": "w",
                        "content": "x", "outcome": "success"}  # fmt: skip
    trace = read(TASK, response(search, found, part("text", "done")))
    assert trace.steps[0].calls[0].result == Result(text="x", state="present", is_error=False)


def test_structured_output_is_the_final_output():
    last: JsonValue = {"part_kind": "tool-call", "tool_name": "final_result", "args": {"n": 1}, "tool_call_id": "f"}
    trace = read(TASK, response(last), request(part("tool-return", "Final result processed.", tool_name="final_result",
                                                    tool_call_id="f")))  # fmt: skip
    assert trace.final_output == '{"n":1}'


def test_ids_that_repeat_are_paired_within_their_step():
    trace = read(TASK, response(call()), request(back("1")), response(call()), request(back("2")))
    assert [each.result.text for _, _, each in trace.calls()] == ["1", "2"]


def test_unknown_parts_are_carried_and_noted_and_broken_messages_are_a_near_miss():
    trace = read(TASK, response(part("hologram", "x")), request(part("hologram", "y")))
    assert ('"x"' in trace.steps[0].message, '"y"' in trace.after[0].text, len(trace.notes)) == (True, True, 2)
    with pytest.raises(UnreadableTrace, match=r"pydantic-ai: messages\[2\] has no `kind` and `parts`"):
        list(read_document([TASK, request(), {"parts": None}]))


@pytest.mark.skipif(not files("pydantic_ai"), reason=WHY)
def test_the_real_files_are_read():
    found = read_every("pydantic_ai")
    assert {trace.source_format for traces in found.values() for trace in traces} == {"pydantic-ai"}
    (article,), (parallel,) = found["5262_article_messages.json"], found["5262_parallel_messages.json"]
    assert is_the_article_run(article)
    assert is_the_parallel_run(parallel)
    assert shape(article) == [(1, 1)] * 7 + [(1, 0)]
    assert outcomes(article) == outcomes(parallel) == {("present", False)}
