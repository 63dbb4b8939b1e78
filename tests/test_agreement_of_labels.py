"""Labels beside verdicts: which labels count, what the readings of a step are made of, and when a judge is validated."""

from collections.abc import Sequence

import pytest

from stepjudge.label import Label, Sampling
from stepjudge.labelled import LabelledVerdicts, beside
from stepjudge.rubric import AnswerWord
from stepjudge.trust import TrustRule
from stepjudge.validation import validation
from stepjudge.verdict import Answer

from labelling import key, label
from rubrics_for_tests import SMALL

Verdicts = dict[tuple[str, str], tuple[Answer, ...]]


def verdict(valid: AnswerWord, useful: AnswerWord = "yes", relevant: AnswerWord = "yes") -> tuple[Answer, ...]:
    words: dict[str, AnswerWord] = {
        "valid": valid,
        "arguments": "not_applicable",
        "relevant": relevant,
        "useful": useful,
        "recovery": "not_applicable",
    }
    return tuple(Answer(criterion=name, answer=word) for name, word in words.items())


def compared(verdicts: Verdicts, labels: Sequence[Label], *, every: bool = False) -> LabelledVerdicts:
    return beside(SMALL, verdicts, labels, rule=TrustRule(), every=every)


def counted(found: LabelledVerdicts, name: str) -> tuple[int, int, int]:
    """(labelled, answered, equal)."""
    row = found.reading(name)
    assert row is not None
    return row.agreement.labelled, row.agreement.answered, row.agreement.matches


def test_only_blind_labels_of_known_probability_count_unless_all_are_wanted() -> None:
    labels = [
        label("yes"),
        label("yes", step=2, blind=False),
        label("yes", step=3, sampling=Sampling(design="disagreement")),
    ]
    verdicts = {key(number): verdict("yes") for number in (1, 2, 3)}
    found = compared(verdicts, labels)
    assert counted(found, "valid") == (1, 1, 1)
    assert found.readings[0].counts.left_out == 2
    assert counted(compared(verdicts, labels, every=True), "valid") == (3, 3, 3)


def test_what_cannot_be_compared_is_counted_apart() -> None:
    labels = [
        label("yes"),
        label("undetermined", step=2),
        label("yes", step=3),
        label("no", step=3, annotator="other"),
        label("yes", step=4),
        label("no", step=5, rubric=SMALL.model_copy(update={"version": "1.1.0"})),
    ]
    verdicts = {key(number): verdict("yes") for number in (1, 2, 3)} | {key(5): verdict("undetermined")}
    found = compared(verdicts, labels)
    counts = found.readings[0].counts
    assert (counts.could_not_tell, counts.contested, counts.not_judged, counts.other_wording) == (1, 1, 1, 1)
    assert counted(found, "valid") == (2, 1, 1), "the judge's undetermined is an answer that it owes"


def test_people_read_a_step_by_the_scoring_of_their_answers() -> None:
    labels = [
        label("yes"),
        label("yes", criterion="relevant"),
        label("no", criterion="useful"),
        label("no", step=2),
        label("yes", step=3),
    ]
    verdicts = {key(1): verdict("yes", "no"), key(2): verdict("yes"), key(3): verdict("yes")}
    found = compared(verdicts, labels)
    assert counted(found, "score") == (2, 2, 1), "step 3 has no answer to useful, so its score cannot be told"
    assert counted(found, "bad") == (2, 2, 1)
    assert counted(found, "passes") == (2, 2, 1)


def test_a_step_of_several_calls_is_read_only_when_all_of_them_are_labelled() -> None:
    two = tuple(
        Answer(criterion=name, call=number, answer="yes")
        for name in ("valid", "relevant", "useful")
        for number in (1, 2)
    )
    half = [label("yes", criterion=name, call=1) for name in ("valid", "relevant", "useful")]
    whole = [*half, *(label("yes", criterion=name, call=2) for name in ("valid", "relevant", "useful"))]
    assert compared({key(1): two}, half).reading("score") is None
    assert counted(compared({key(1): two}, whole), "score") == (1, 1, 1)
    assert counted(compared({key(1): two}, whole), "valid") == (2, 2, 2)


def test_a_label_of_the_score_says_all_three_readings() -> None:
    labels = [label(score, step=number) for number, score in enumerate((1, 0, -1), start=1)]
    verdicts = {key(1): verdict("yes"), key(2): verdict("yes", "no"), key(3): verdict("yes")}
    found = compared(verdicts, labels)
    assert [counted(found, name)[2] for name in ("score", "passes", "bad")] == [2, 2, 2]
    assert found.floors[0].matches == 1


def test_first_errors_are_found_where_whole_traces_are_labelled() -> None:
    whole = Sampling(design="whole_traces", probability=1.0)
    labels = [label(score, step=number, trace_id="t", sampling=whole).model_copy(update={"step": number}) for number, score in enumerate((1, -1, 1), start=1)]  # fmt: skip
    verdicts = {key(1): verdict("yes"), key(2): verdict("no"), key(3): verdict("yes")}
    found = compared(verdicts, labels).first_error
    assert found is not None
    assert (found.traces, found.exact) == (1, 1)
    assert compared(verdicts, labels[1:]).first_error is None, "its first step is not labelled"
    assert compared({key(1): verdict("yes")}, labels).first_error is None, "the judge has not judged all of it"


def made(right: int, wrong: int) -> tuple[Verdicts, list[Label]]:
    """Steps of which one in three is bad; the judge is wrong on some."""
    verdicts: Verdicts = {}
    labels: list[Label] = []
    for number in range(right + wrong):
        score = -1 if number % 3 == 0 else 1
        said = score if number < right else -score
        verdicts[key(number)] = verdict("no" if said == -1 else "yes")
        labels.append(label(score, step=number, task=number % 20))
    return verdicts, labels


@pytest.mark.parametrize(
    ("right", "wrong", "validated", "word"),
    [
        (58, 2, True, "trust it"),
        (47, 2, False, "too few examples to say"),
        (50, 12, False, "use with care"),
        (35, 25, False, "do not rely on it"),
    ],
)
def test_a_judge_is_validated_by_enough_labels_that_it_agrees_with(
    right: int, wrong: int, validated: bool, word: str
) -> None:
    standing = validation(compared(*made(right, wrong)))
    assert (standing.validated, standing.word, standing.labels) == (validated, word, right + wrong)
    assert (standing.worth is None) == (right + wrong < 50)
    assert ("validated" if validated else "provisional") in standing.words


def test_labels_of_few_tasks_validate_nobody() -> None:
    verdicts, labels = made(58, 2)
    few = [each.model_copy(update={"task_digest": labels[place % 4].task_digest}) for place, each in enumerate(labels)]
    standing = validation(compared(verdicts, few))
    assert (standing.validated, standing.word) == (False, "too few examples to say")
    assert "labels of 4 tasks: 5 are needed" in standing.because


def test_a_judge_that_agrees_is_worth_more_labels_than_one_that_does_not() -> None:
    good, poor = (validation(compared(*made(*each))).worth for each in ((58, 2), (40, 20)))
    assert good is not None
    assert poor is not None
    assert 1 <= poor < good <= 4


def test_labels_that_were_drawn_by_disagreement_validate_nobody() -> None:
    verdicts, labels = made(60, 0)
    chosen = [each.model_copy(update={"sampling": Sampling(design="disagreement")}) for each in labels]
    assert not validation(compared(verdicts, chosen)).validated
    assert not validation(compared(verdicts, [each.model_copy(update={"blind": False}) for each in labels])).validated


def test_the_reading_that_validates_can_be_chosen() -> None:
    verdicts, labels = made(58, 2)
    found = beside(SMALL, verdicts, labels, rule=TrustRule(validates="bad", min_labels=20))
    assert validation(found).reading == "bad"
