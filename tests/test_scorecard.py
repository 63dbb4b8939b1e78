"""A scorecard joins a trace with its verdicts and counts what it covers."""

from collections.abc import Mapping
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_service.question import things_to_ask
from stepjudge.contract import Scorecard
from stepjudge.grouping import Grouping
from stepjudge.metric import Rate
from stepjudge.rubric import AnswerWord, Criterion, Rubric, Scoring
from stepjudge.scorecard import Bench, Landed, scorecard
from stepjudge.trace import Step, Trace
from stepjudge.verdict import Answer, Cause, Fact, Spent, Verdict

from rubrics_for_tests import SMALL
from traces import call, of_calls, step, trace

ASKED: tuple[str, ...] = ("valid", "relevant", "useful", "arguments")
BENCH = Bench("scripted", "sha256:0", "", True, "0")

PUBLISHED = of_calls(
    [
        call("terminal", "/testbed/src/_pytest/capture.py", command='find /testbed -name "capture.py"'),
        call("editor", "a very long file", command="view", path="/capture.py"),
        call("terminal", "425:class EncodedFile(object):", command='grep -n "EncodedFile" /capture.py'),
        call("editor", "420 …", command="view", path="/capture.py", view_range=[420, 450]),
        call("editor", "450 …", command="view", path="/capture.py", view_range=[450, 470]),
        call("editor", "done", command="insert", path="/capture.py", insert_line=470),
    ]
)


def verdict(
    step: Step,
    default: AnswerWord = "yes",
    *,
    facts: tuple[Fact, ...] = (),
    spent: Spent | None = None,
    cause: Cause = "judge_unsure",
    settled_by: Literal["facts", "judge"] = "judge",
    rubric: Rubric = SMALL,
    words: Mapping[str, AnswerWord] | None = None,
) -> Verdict:
    """A verdict that answers every criterion alike, but for those named; recovery is not applicable."""
    said: dict[str, AnswerWord] = {"recovery": "not_applicable", **(words or {})}
    return Verdict(
        verdict_id=f"v{step.index}",
        key=f"k{step.index}",
        step=step.index,
        rubric=rubric.digest,
        judge="scripted",
        answers=tuple(
            Answer(
                criterion=one.criterion.name,
                call=one.call,
                answer=(word := said.get(one.criterion.name, default)),
                cause=cause if word == "undetermined" else None,
                fixes=(2,) if (one.criterion.name, word) == ("recovery", "yes") else (),
                settled_by=settled_by,
            )
            for one in things_to_ask(rubric, step)
        ),
        facts=facts,
        spent=spent or Spent(requests=1, cost_usd=0.25),
    )


def card(trace: Trace, *verdicts: Verdict, cached: bool = False, grouping: Grouping = "none") -> Scorecard:
    landed = {each.step: Landed(each, cached) for each in verdicts}
    return scorecard(trace, SMALL, landed, BENCH, grouping)


def published(grouping: Grouping) -> Scorecard:
    words: dict[int, dict[str, AnswerWord]] = {2: {"useful": "no"}, 3: {"recovery": "yes"}}
    verdicts = [verdict(each, words=words.get(each.index)) for each in PUBLISHED.steps[:5]]
    return card(PUBLISHED, *verdicts, grouping=grouping)


def figures(card: Scorecard) -> list[str]:
    scores = (card.scores.step_level, card.scores.tool_call_precision, card.scores.argument_accuracy)
    return [f"{each.numerator}/{each.denominator}" for each in scores]


def test_the_published_verdicts_give_the_published_figures_when_reads_are_merged() -> None:
    made = published("consecutive-reads")
    assert figures(made) == ["3/4", "3/4", "4/4"]
    assert [(each.step, each.fixes) for each in made.recoveries] == [(3, (2,))]
    assert made.scores.recovery_rate == Rate(numerator=1, denominator=1)
    assert (made.range, made.total_steps, made.groups) == ("1-5", 6, ((1,), (2,), (3,), (4, 5)))


def test_the_published_verdicts_without_grouping() -> None:
    made = published("none")
    assert figures(made) == ["4/5", "4/5", "5/5"]
    assert [each.score for each in made.steps] == [1, 0, 1, 1, 1]
    assert [each.passes for each in made.steps] == [True, False, True, True, True]
    assert (made.range, made.grouping, made.groups) == ("1-5", "none", ((1,), (2,), (3,), (4,), (5,)))


@pytest.mark.parametrize(
    ("fourth", "fifth", "expected"),
    [
        ({}, {}, ["1/1", "1/1", "1/1"]),
        ({}, {"useful": "no"}, ["1/1", "1/1", "1/1"]),
        ({"useful": "no"}, {"useful": "no"}, ["0/1", "0/1", "1/1"]),
        ({"valid": "no"}, {}, ["0/1", "0/1", "1/1"]),
        ({"relevant": "no"}, {"relevant": "no"}, ["0/1", "0/1", "0/0"]),
        ({"arguments": "no"}, {}, ["1/1", "1/1", "0/1"]),
        ({"useful": "undetermined"}, {"useful": "no"}, ["0/0", "0/0", "1/1"]),
    ],
)
def test_merged_steps_answer_as_the_calls_of_one_step_would(
    fourth: dict[str, AnswerWord], fifth: dict[str, AnswerWord], expected: list[str]
) -> None:
    pair = [verdict(each, words=words) for each, words in zip(PUBLISHED.steps[3:5], (fourth, fifth), strict=True)]
    made = card(PUBLISHED, *pair, grouping="consecutive-reads")
    assert made.groups == ((4, 5),)
    assert figures(made) == expected


def test_a_step_left_out_of_the_range_keeps_its_neighbours_apart() -> None:
    reads = [call("view", path="f", view_range=[n * 10, n * 10 + 9]) for n in (1, 2, 3)]
    three = of_calls(reads)
    first, _, third = three.steps
    assert card(three, *map(verdict, three.steps), grouping="consecutive-reads").groups == ((1, 2, 3),)
    made = card(three, verdict(first), verdict(third), grouping="consecutive-reads")
    assert (made.range, made.groups) == ("1,3", ((1,), (3,)))


def test_a_call_of_an_unknown_tool_is_not_one_with_the_right_tool() -> None:
    two = trace(step(1, call(), call("serch")))
    plain = verdict(two.steps[0])
    unknown = verdict(two.steps[0], facts=(Fact(name="unknown_tool", call=2),))
    assert figures(card(two, plain)) == ["1/1", "2/2", "2/2"]
    assert figures(card(two, unknown)) == ["1/1", "2/2", "1/1"]


@pytest.mark.parametrize(
    ("spent", "cached", "cost"),
    [
        ([Spent(requests=1, cost_usd=0.25), Spent(requests=1, cost_usd=0.5)], False, 0.75),
        ([Spent(requests=1, cost_usd=0.25), Spent(requests=1, cost_usd=None)], False, None),
        ([Spent(requests=1, cost_usd=None)], False, None),
        ([Spent(requests=1, cost_usd=None)], True, 0),
        ([Spent(requests=1, cost_usd=0.25)], True, 0),
        ([Spent()], False, 0),
        ([Spent(), Spent(requests=2, cost_usd=0.5)], False, 0.5),
        ([], False, 0),
    ],
)
def test_the_cost_is_what_this_request_paid_and_null_when_a_price_is_unknown(
    spent: list[Spent], cached: bool, cost: float | None
) -> None:
    verdicts = [verdict(each, spent=one) for each, one in zip(PUBLISHED.steps, spent, strict=False)]
    made = card(PUBLISHED, *verdicts, cached=cached)
    assert made.cost_usd == cost
    assert made.cached_steps == (len(spent) if cached else 0)
    assert made.requests == (0 if cached else sum(one.requests for one in spent))


def test_undetermined_answers_are_counted_with_their_causes_and_in_no_rate() -> None:
    one, two, three, *_ = PUBLISHED.steps
    made = card(
        PUBLISHED,
        verdict(one),
        verdict(two, words={"useful": "undetermined"}, cause="budget"),
        verdict(three, "undetermined", cause="provider"),
    )
    assert (made.answers, made.undetermined, made.causes) == (15, 5, {"budget": 1, "provider": 4})
    assert made.scores.step_level == Rate(numerator=1, denominator=1, undetermined=2)
    assert made.scores.tool_call_precision == Rate(numerator=1, denominator=1, undetermined=2)
    assert made.scores.argument_accuracy == Rate(numerator=2, denominator=2, undetermined=1)
    assert [each.score for each in made.steps] == [1, None, None]


def test_a_step_without_calls_is_scored_and_is_no_call() -> None:
    talk = trace(step(1, message="Done."))
    made = card(talk, verdict(talk.steps[0], words={"arguments": "not_applicable"}))
    assert figures(made) == ["1/1", "0/0", "0/0"]


def test_calls_of_one_step_are_counted_one_by_one() -> None:
    two = trace(step(1, call(), call()))
    base = verdict(two.steps[0])
    answers = tuple(
        each.model_copy(update={"answer": "no"}) if (each.criterion, each.call) == ("useful", 2) else each
        for each in base.answers
    )
    made = card(two, base.model_copy(update={"answers": answers}))
    assert figures(made) == ["1/1", "1/2", "2/2"]
    assert [each.answers["useful"] for each in made.steps[0].calls] == ["yes", "no"]
    assert made.steps[0].answers["useful"] == "yes"


def test_a_call_passes_with_its_step_where_the_rubric_asks_only_of_steps() -> None:
    rubric = Rubric(
        name="whole",
        version="1.0.0",
        instructions="Judge.",
        criteria=(Criterion(name="good", unit="step", question="?"),),
        scoring=Scoring(passes=("good",)),
    )
    one, two, *_ = PUBLISHED.steps
    landed = {
        1: Landed(verdict(one, rubric=rubric), False),
        2: Landed(verdict(two, "no", rubric=rubric), False),
    }
    made = scorecard(PUBLISHED, rubric, landed, BENCH)
    assert made.scores.tool_call_precision == Rate(numerator=1, denominator=2)


@pytest.mark.parametrize(
    ("ways", "settled_by"), [(["facts"], "facts"), (["judge"], "judge"), (["facts", "judge"], "mixed")]
)
def test_a_step_says_who_settled_it(ways: list[Literal["facts", "judge"]], settled_by: str) -> None:
    first = PUBLISHED.steps[0]
    answers = tuple(answer for way in ways for answer in verdict(first, settled_by=way).answers)
    made = card(PUBLISHED, verdict(first).model_copy(update={"answers": answers}))
    assert made.steps[0].settled_by == settled_by


@given(st.data(), st.sampled_from(["none", "consecutive-reads"]))
def test_every_unit_is_in_every_rate_once_or_counted_as_undetermined(data: st.DataObject, grouping: Grouping) -> None:
    three: list[AnswerWord] = ["yes", "no", "undetermined"]
    any_word = st.sampled_from(three)
    chosen = data.draw(st.sets(st.integers(1, 6), min_size=1))
    made = card(
        PUBLISHED,
        *(
            verdict(each, words=data.draw(st.fixed_dictionaries(dict.fromkeys(ASKED, any_word))))
            for each in PUBLISHED.steps
            if each.index in chosen
        ),
        grouping=grouping,
    )
    for counted in (made.scores.step_level, made.scores.tool_call_precision):
        assert counted.denominator + counted.undetermined == len(made.groups)
    for counted in (made.scores.step_level, made.scores.argument_accuracy, made.scores.recovery_rate):
        assert counted.value is None or 0 <= counted.value <= 1
    assert made.scores.step_level == made.scores.tool_call_precision
    assert sum(made.causes.values()) == made.undetermined
    assert Scorecard.model_validate_json(made.model_dump_json()) == made
