"""smolagents memory: the task and steps with `step_number`, model output, calls and one text of observations.

Specification: smolagents, `memory.py` (`ActionStep`, `PlanningStep`, `TaskStep`, `FinalAnswerStep`), version 1.x. Read
are `agent.memory.get_full_steps()`, `get_succinct_steps()` and the result of `run(return_full_result=True)`. A failed
step has an empty `tool_calls`: the calls are taken from what the model emitted.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.content import read_content
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.format import NO_FIT, Fit, Format, Origin
from stepjudge.formats.reading.moments import moment
from stepjudge.formats.reading.shape import as_list, as_object, as_text, identifier, objects, rest, text_or_none
from stepjudge.formats.reading.usage import read_usage
from stepjudge.trace import Call, ErrorKind, Trace
from stepjudge.value import JsonObject

_NAME = "smolagents"
_LOOKED_AT = 20
_INTERPRETER = "python_interpreter"
_STEP = ("model_output_message", "model_output", "observations", "action_output", "code_action")
_JOINED = "smolagents joins the observations of parallel calls in one text: it stands with the step"
_IN_STEP = (
    "step_number",
    "model_input_messages",
    "model_output_message",
    "model_output",
    "tool_calls",
    "error",
    "code_action",
    "observations",
    "observations_images",
    "action_output",
    "token_usage",
    "is_final_answer",
)


def detect(document: JsonValue) -> Fit:
    head = [as_object(each) for each in _steps(document)[:_LOOKED_AT]]
    if any("step_number" in each and set(_STEP) & each.keys() for each in head):
        return Fit("certain")
    return Fit("near", "it has a task, but no steps with a `step_number`") if _is_bare_task(head) else NO_FIT


def _is_bare_task(head: list[JsonObject]) -> bool:
    return bool(head) and "task_images" in head[0]


def _steps(document: JsonValue) -> list[JsonValue]:
    return document if isinstance(document, list) else as_list(as_object(document).get("steps"))


def read(document: JsonValue, origin: Origin) -> Iterator[Trace]:
    del origin
    outer = as_object(document)
    draft = Draft(_NAME)
    answer: JsonValue = outer.get("output")
    _tell_system(draft, [as_object(each) for each in _steps(document)])
    for value in _steps(document):
        step = as_object(value)
        if "step_number" in step:
            _tell_action(draft, step)
            answer = _answer(step) if step.get("is_final_answer") else answer
        elif "task" in step:
            draft.message("user", [step.get("task"), *as_list(step.get("task_images"))])
        elif "plan" in step:
            draft.step(step.get("plan"), usage=read_usage(step.get("token_usage")), extra={"planning": True})
        elif "output" in step:
            answer = step.get("output") if answer is None else answer
        elif "system_prompt" not in step:
            draft.note("an entry that is no task, plan or action was left out")
    yield draft.build(
        agent="smolagents",
        usage=read_usage(outer.get("token_usage")),
        final_output=None if answer is None else read_content(answer).text or None,
        extra=rest(outer, "output", "steps", "token_usage"),
    )


def _tell_system(draft: Draft, steps: list[JsonObject]) -> None:
    """The system prompt is not in the list of steps; the first input of the model has it."""
    for step in steps:
        shown = [each for each in objects(step.get("model_input_messages")) if each.get("role") == "system"]
        prompt = [step.get("system_prompt")] if "system_prompt" in step else [each.get("content") for each in shown]
        if prompt:
            draft.message("system", prompt[0])
            return


def _tell_action(draft: Draft, step: JsonObject) -> None:
    message = as_object(step.get("model_output_message"))
    calls = _calls(draft, step, message)
    draft.step(
        step.get("model_output") or message.get("content"),
        calls=calls,
        usage=read_usage(step.get("token_usage") or message.get("token_usage")),
        started_at=moment(as_object(step.get("timing")).get("start_time")),
        extra=rest(step, *_IN_STEP),
    )
    error = as_object(step.get("error"))
    text = "\n".join(filter(None, (as_text(step.get("observations")), as_text(error.get("message")))))
    seen: JsonValue = [text, *as_list(step.get("observations_images"))]
    has_content = step.get("observations") is not None or bool(error)
    if len(calls) == 1 and has_content:
        kind = _error_kind(error) if error else None
        draft.result(seen, id=calls[0].id, name=calls[0].name, is_error=bool(error), error_kind=kind)
    elif has_content:
        if calls:
            draft.note(_JOINED)
        draft.observation(seen, is_error=bool(error))


def _calls(draft: Draft, step: JsonObject, message: JsonObject) -> list[Call]:
    emitted = list(objects(message.get("tool_calls"))) or list(objects(step.get("tool_calls")))
    calls = [_call(draft, call) for call in emitted]
    if not calls and isinstance(step.get("code_action"), str):
        calls.append(draft.call(_INTERPRETER, {"code": step.get("code_action")}))
    return calls


def _call(draft: Draft, call: JsonObject) -> Call:
    function = as_object(call.get("function")) or call
    name, arguments = as_text(function.get("name")), function.get("arguments")
    if name == _INTERPRETER and isinstance(arguments, str):  # an agent that acts in code: its one tool takes code
        return draft.call(name, {"code": arguments}, id=identifier(call.get("id")))
    return draft.call(name, arguments, id=identifier(call.get("id")))


def _error_kind(error: JsonObject) -> ErrorKind | None:
    """smolagents has one type for tools that failed and for tools that do not exist."""
    match error.get("type"):
        case "AgentToolCallError":
            return "bad_arguments"
        case "AgentToolExecutionError":
            return "unknown_tool" if as_text(error.get("message")).startswith("Unknown tool") else "tool_error"
        case "AgentExecutionError":
            return "tool_error"
        case _:
            return None


def _answer(step: JsonObject) -> JsonValue:
    """The log has the output of the action, or, of an agent that calls tools, the call."""
    if step.get("action_output") is not None:
        return step["action_output"]
    for call in objects(step.get("tool_calls")):
        arguments = as_object(call.get("function")).get("arguments")
        if answer := text_or_none(as_object(arguments).get("answer")):
            return answer
    return step.get("observations")


FORMAT = Format(
    name=_NAME,
    title="smolagents: steps of an agent's memory",
    detect=detect,
    read=read,
)
