"""The prompt of a step holds the trace up to that step, then the question, and nothing that the judge may not know."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge_service.prompt import Prompt, prompt, system_text
from judge_service.question import Question, things_to_ask
from judge_service.reply import schema
from judge_service.shown import Shown, mark
from judge_service.state import states
from stepjudge.digest import digest
from stepjudge.rubric import Rubric
from stepjudge.trace import Message, Trace
from stepjudge.verdict import Fact
from stepjudge.visible import visible

from rubrics_for_tests import SMALL
from traces import PUMP, call, changed, step, texts, trace, traces


def asked(trace: Trace, index: int, *facts: Fact, rubric: Rubric = SMALL) -> Prompt:
    view = Shown(trace, mark(b"key", states(trace)[0][0]), reasoning=rubric.shows_reasoning)
    return prompt(Question(rubric, trace, index, facts, things_to_ask(rubric, trace.steps[index - 1])), view)


@given(traces(), traces(), st.data())
@settings(max_examples=60)
def test_a_prompt_depends_on_nothing_that_comes_later(trace: Trace, other: Trace, data: st.DataObject) -> None:
    index = data.draw(st.integers(1, len(trace.steps)))
    later = tuple(step.model_copy(update={"index": number}) for number, step in enumerate(other.steps, start=index + 1))
    elsewhere = trace.model_copy(
        update={
            "steps": trace.steps[:index] + later,
            "after": other.after,
            "final_output": other.final_output,
            "extra": other.extra,
            "trace_id": other.trace_id,
            "notes": other.notes,
        }
    )
    assert asked(elsewhere, index) == asked(trace, index)


@given(traces())
def test_call_ids_and_extras_are_not_in_a_prompt(trace: Trace) -> None:
    secret = "zanzibar-4711"
    steps = tuple(
        step.model_copy(
            update={
                "calls": tuple(c.model_copy(update={"id": secret, "extra": {"x": secret}}) for c in step.calls),
                "extra": {"x": secret},
                "agent": secret,
                "model": secret,
                "started_at": secret,
            }
        )
        for step in trace.steps
    )
    after = (Message(role="user", text=secret),)
    marked = trace.model_copy(update={"steps": steps, "final_output": secret, "after": after, "agent": secret})
    for index in range(1, len(steps) + 1):
        assert asked(marked, index) == asked(trace, index)


@given(traces(min_steps=2))
def test_the_text_before_a_question_is_a_prefix_of_the_next_prompt(trace: Trace) -> None:
    for index in range(1, len(trace.steps)):
        this, following = asked(trace, index), asked(trace, index + 1)
        assert this.system == following.system
        assert following.user.startswith("".join(this.blocks))
        assert len("".join(this.blocks)) < len("".join(following.blocks))


def test_the_question_stands_last_and_names_what_each_unit_must_answer() -> None:
    made = asked(changed(PUMP, 3, calls=PUMP.steps[2].calls * 2), 3)
    fence = mark(b"key", states(PUMP)[0][0])
    assert made.user.endswith(made.question)
    assert made.question == (
        f"⟦{fence} question⟧\n"
        "Judge step 3, on what is known up to its own results.\n"
        "Keys of the JSON object, and what each must answer:\n"
        "- act_1 (call 1): valid (yes/no/undetermined), arguments (yes/no/undetermined), relevant (yes/no/undetermined), "
        "useful (yes/no/undetermined)\n"
        "- act_2 (call 2): valid (yes/no/undetermined), arguments (yes/no/undetermined), relevant (yes/no/undetermined), "
        "useful (yes/no/undetermined)\n"
        "- step: recovery (yes/no/not_applicable/undetermined, with fixes)\n"
        "- inherits_from: a list of step numbers\n"
    )


@given(texts)
def test_the_detail_of_a_fact_stays_one_line_of_the_question(detail: str) -> None:
    plain = asked(PUMP, 2).question
    made = asked(PUMP, 2, Fact(name="near_repeat", call=1, detail=detail)).question
    line = made.split("\n")[3]
    assert len(made.split("\n")) == len(made.splitlines()) + 1 == len(plain.split("\n")) + 2
    assert line.startswith("- near_repeat (call 1)")
    if detail:
        shown = json.loads(line.removeprefix("- near_repeat (call 1): "))
        assert shown in (visible(detail)[:300], "its words speak to a judge")
    made.encode()


def test_a_long_detail_is_shortened() -> None:
    assert len(asked(PUMP, 2, Fact(name="claim", detail="x" * 10_000)).question) < 1_500


@given(traces())
def test_the_digest_is_of_the_words_that_are_sent(trace: Trace) -> None:
    made = asked(trace, 1)
    assert made.length == len(made.system) + len(made.user)
    assert made.digest == asked(trace, 1).digest
    assert made.digest != Prompt(system=made.system, blocks=made.blocks, question=made.question + " ").digest
    assert made.digest == Prompt(system=made.system, blocks=(), question=made.user).digest


@pytest.mark.parametrize("shows", [False, True])
def test_a_rubric_says_whether_reasoning_is_shown(shows: bool) -> None:
    thinking = changed(PUMP, 1, reasoning="quicksilver")
    rubric = SMALL.model_copy(update={"shows_reasoning": shows})
    assert ("quicksilver" in asked(thinking, 2, rubric=rubric).user) == shows


def test_the_system_text_holds_every_word_of_the_rubric() -> None:
    text = system_text(SMALL)
    for criterion in SMALL.criteria:
        assert f"## {criterion.name} (asked of " in text
        assert criterion.question in text
    assert text.startswith("Grade one step.")
    assert "A yes is only possible where valid and relevant is yes too." in text


def test_what_facts_settled_is_not_asked() -> None:
    question = Question(SMALL, PUMP, 2, (), things_to_ask(SMALL, PUMP.steps[1]))
    view = Shown(PUMP, "mark", reasoning=False)
    only = replace(question, asked=question.asked[:1])
    asked_for = prompt(only, view).question
    assert "- act_1 (call 1): valid (yes/no/undetermined)\nSettled by facts;" in asked_for
    assert "what you say there: act_1.arguments, act_1.relevant, act_1.useful, step.recovery\n" in asked_for


def test_steps_with_a_call_or_with_none_have_one_reply_schema() -> None:
    single, double = step(1, call()), step(1, call(), call())
    forms = {
        digest(schema(Question(SMALL, trace(each), 1, (), asked).form))
        for each in (single, step(1, message="done"))
        for asked in (things_to_ask(SMALL, each), things_to_ask(SMALL, each)[:1])
    }
    assert len(forms) == 1, "a schema of its own would cost a step the cached prefix"
    both = Question(SMALL, trace(double), 1, (), ())
    assert digest(schema(both.form)) not in forms
