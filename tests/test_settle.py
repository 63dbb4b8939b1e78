"""What facts settle without a judge, what follows from that, and what remains to be asked."""

from judge_service.facts import settle
from stepjudge.rubric import Criterion, Rubric, Scoring
from stepjudge.trace import Call, Result, Step
from stepjudge.verdict import Answer, Evidence, Fact

from rubrics_for_tests import SMALL

REJECTED = Fact(name="rejected", call=1, detail="unknown tool: serch", settles=True)
ERROR = Result(text="unknown tool: serch", state="present", is_error=True)


def step(calls: int = 1, index: int = 3, result: Result = ERROR) -> Step:
    made = tuple(Call(name="serch", arguments={}, result=result) for _ in range(calls))
    return Step(index=index, turn=1, llm_call=index, calls=made)


def words(answers: tuple[Answer, ...]) -> dict[tuple[str, int | None], str]:
    return {(answer.criterion, answer.call): answer.answer for answer in answers}


def open_names(rubric: Rubric, of: Step, *facts: Fact) -> list[tuple[str, int | None]]:
    return [(asked.criterion.name, asked.call) for asked in settle(rubric, of, facts)[1]]


def test_a_rejected_call_is_not_valid_and_so_not_useful() -> None:
    answers, asked = settle(SMALL, step(), (REJECTED,))
    evidence = (Evidence(place="s3.c1.result", quote="unknown tool: serch"),)
    reason = "the environment rejected the call: unknown tool: serch"
    assert answers == (
        Answer(
            criterion="valid",
            call=1,
            answer="no",
            reason=reason,
            evidence=evidence,
            settled_by="facts",
            rule="rejected",
        ),
        Answer(
            criterion="useful",
            call=1,
            answer="no",
            reason=f"'useful' implies 'valid', which is no: {reason}",
            evidence=evidence,
            settled_by="facts",
            rule="rejected",
        ),
    )
    assert [one.criterion.name for one in asked] == ["arguments", "relevant", "recovery"]


def test_a_signal_settles_nothing() -> None:
    signal = REJECTED.model_copy(update={"settles": False})
    assert settle(SMALL, step(), (signal,))[0] == ()


def test_a_fact_settles_its_own_call_only() -> None:
    answers, _ = settle(SMALL, step(calls=2), (REJECTED,))
    assert words(answers) == {("valid", 1): "no", ("useful", 1): "no"}


def test_an_empty_result_says_nothing_about_validity() -> None:
    empty = Fact(name="empty_result", call=1, settles=True)
    answers, _ = settle(SMALL, step(result=Result(state="empty")), (empty,))
    assert words(answers) == {("useful", 1): "no"}


def test_the_first_step_cannot_recover() -> None:
    answers, _ = settle(SMALL, step(index=1), (Fact(name="first_step", settles=True),))
    assert words(answers) == {("recovery", None): "not_applicable"}


def test_what_may_not_apply_is_not_settled_by_implication() -> None:
    assert ("recovery", None) in open_names(SMALL, step(), REJECTED)


def test_a_message_has_no_arguments() -> None:
    message = Step(index=2, turn=1, llm_call=2, message="plan")
    answers, asked = settle(SMALL, message, ())
    assert [(a.criterion, a.answer, a.rule) for a in answers] == [("arguments", "not_applicable", "no_call")]
    assert [one.criterion.name for one in asked] == ["valid", "relevant", "useful", "recovery"]


def test_every_criterion_is_either_settled_or_asked_in_order() -> None:
    answers, asked = settle(SMALL, step(calls=2), (REJECTED,))
    units = [(name, call) for name in ("valid", "arguments", "relevant", "useful") for call in (1, 2)]
    together = set(words(answers)) | {(one.criterion.name, one.call) for one in asked}
    assert together == {*units, ("recovery", None)}
    assert [(one.criterion.name, one.call) for one in asked] == [unit for unit in [*units, ("recovery", None)] if unit not in words(answers)]  # fmt: skip


def of_step(takes: str) -> Rubric:
    return Rubric(
        name="other",
        version="1.0.0",
        instructions="Grade.",
        criteria=(
            Criterion.model_validate(
                {"name": "sound", "unit": "call", "step_takes": takes, "question": "?", "no_by_fact": ["rejected"]}
            ),
            Criterion(name="progress", unit="step", question="?", implies=("sound",)),
            Criterion(name="fresh", unit="step", question="?", no_by_fact=("repeat",)),
            Criterion(name="praised", unit="step", question="?", implies=("progress",)),
        ),
        scoring=Scoring(passes=("sound",)),
    )


def test_a_step_is_settled_by_its_calls_only_where_the_roll_up_is_certain() -> None:
    second = REJECTED.model_copy(update={"call": 2})
    settled = {("progress", None), ("praised", None)}
    assert settled <= set(words(settle(of_step("all"), step(calls=2), (REJECTED,))[0]))
    assert settled.isdisjoint(words(settle(of_step("any"), step(calls=2), (REJECTED,))[0]))
    assert settled <= set(words(settle(of_step("any"), step(calls=2), (REJECTED, second))[0]))


def test_facts_about_calls_settle_a_question_about_the_step_only_together() -> None:
    repeats = [Fact(name="repeat", call=call, detail="same", settles=True) for call in (1, 2)]
    assert ("fresh", None) in open_names(of_step("all"), step(calls=2), repeats[0])
    assert ("fresh", None) not in open_names(of_step("all"), step(calls=2), *repeats)
