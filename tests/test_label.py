"""Labels: what holds when people change their minds, differ, and adjudicate; and which steps they are given."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stepjudge.agreement import Answered
from stepjudge.annotators import ceiling
from stepjudge.label import Label, Sampling, fault, questions, settled, standing
from stepjudge.label_file import BadLabelFile, read_labels, to_csv, to_jsonl
from stepjudge.label_sampling import Candidate, drawn
from stepjudge.metric import score
from stepjudge.rubric import AnswerWord
from stepjudge.rubric_file import read_rubric_file, shipped

from labelling import DRAWN, label
from rubrics_for_tests import SMALL
from traces import call, step

TERNARY_RUBRIC = read_rubric_file(shipped() / "step-ternary" / "1.0.0.yaml")
STEP_RUBRIC = read_rubric_file(shipped() / "step" / "1.0.0.yaml")


def said(*labels: Label) -> list[Answered | None]:
    return [each.said for each in settled(labels)]


def later(label: Label, **fields: object) -> Label:
    return Label.model_validate(
        label.model_dump() | {"created_at": "2024-12-01T11:00:00Z", "label_id": "later"} | fields
    )


def test_a_later_answer_replaces_an_earlier_one_and_nothing_is_edited() -> None:
    first = label("yes")
    second = later(first, answer="no", supersedes=first.label_id)
    assert standing([first, second]) == (second,)
    assert standing([second, first]) == (second,), "the order in which they were read does not matter"
    assert said(first, later(first, answer="no")) == ["no"], "also when it does not name the earlier one"


def test_what_was_taken_back_is_no_label_any_more() -> None:
    first = label("yes")
    gone = later(first, answer=None, supersedes=first.label_id)
    again = later(first, label_id="again", supersedes="later", created_at="2024-12-01T12:00:00Z")
    assert said(first, gone) == []
    assert said(first, gone, again) == ["yes"]


@pytest.mark.parametrize(
    ("answers", "settles"),
    [
        (("yes", "yes"), "yes"),
        (("yes", "no"), None),
        (("yes", "no", "no"), "no"),
        (("yes", "no", "undetermined"), None),
        (("undetermined", "undetermined", "no"), "undetermined"),
    ],
)
def test_more_than_half_settle_a_question_and_else_it_is_contested(
    answers: tuple[str, ...], settles: str | None
) -> None:
    labels = [label(word, annotator=f"person{number}") for number, word in enumerate(answers)]
    assert said(*labels) == [settles]


def test_an_adjudication_wins_over_any_majority_and_is_no_vote_of_the_ceiling() -> None:
    labels = [label(word, annotator=name) for name, word in (("a", "yes"), ("b", "yes"), ("c", "no"))]
    judge = label("no", annotator="d", adjudicates=tuple(each.label_id for each in labels))
    assert said(*labels, judge) == ["no"]
    found = ceiling(settled([*labels, judge]), ("yes", "no"), scale="nominal")
    assert found is not None
    assert found.raw == pytest.approx(1 / 3)
    assert [(each.first, each.second, each.equal) for each in found.pairs] == [
        ("a", "b", 1),
        ("a", "c", 0),
        ("b", "c", 0),
    ]


def test_taking_an_adjudication_back_leaves_the_adjudicator_s_own_answer() -> None:
    mine, other = label("yes", annotator="a"), label("no", annotator="b")
    ruling = later(mine, label_id="ruling", adjudicates=(other.label_id,))
    undone = later(mine, label_id="undone", answer=None, supersedes="ruling", created_at="2024-12-01T12:00:00Z")
    assert said(mine, other, ruling) == ["yes"]
    assert standing([mine, other, ruling, undone]) == (mine, other)
    assert said(mine, other, ruling, undone) == [None]


def test_taking_a_later_answer_back_does_not_bring_the_one_before_it_back() -> None:
    first = label("yes")
    second = later(first, answer="no")
    gone = later(first, answer=None, supersedes="later", label_id="gone", created_at="2024-12-01T12:00:00Z")
    assert standing([first, second, gone]) == ()
    earlier = later(first, answer=None, supersedes=first.label_id, label_id="gone", created_at="2024-12-01T12:00:00Z")
    assert standing([first, second, earlier]) == (second,), "only what it names is taken back"


def test_an_adjudication_lapses_when_a_label_that_it_settled_no_longer_stands() -> None:
    one, other = label("yes", annotator="a"), label("no", annotator="b")
    ruling = label("yes", annotator="c", label_id="ruling", adjudicates=(one.label_id, other.label_id))
    noon = "2024-12-01T12:00:00Z"
    turned = label("undetermined", annotator="b", label_id="turned", supersedes=other.label_id, created_at=noon)
    (found,) = settled([one, other, ruling, turned])
    assert (found.said, found.adjudicated, found.labels) == (None, False, (one, turned))
    agreed = label("yes", annotator="b", label_id="agreed", supersedes=other.label_id, created_at=noon)
    assert [(each.said, each.adjudicated) for each in settled([one, other, ruling, agreed])] == [("yes", False)]
    assert said(one, ruling) == ["yes"], "of a label that is not at hand nobody knows that it fell"


def test_times_are_compared_as_times() -> None:
    first = label("no")
    second = later(first, answer="yes", created_at="2024-12-01T10:00:00.9Z")
    assert said(second, first) == ["yes"]
    assert said(later(first, answer="yes", created_at="2024-12-01T10:00:00.000001Z"), first) == ["yes"]


def test_calls_criteria_and_steps_are_questions_of_their_own() -> None:
    labels = [label("yes", call=1), label("no", call=2), label("no", criterion="useful"), label("no", step=2)]
    assert said(*labels) == ["yes", "no", "no", "no"]


def test_versions_of_a_rubric_share_their_questions() -> None:
    newer = SMALL.model_copy(update={"version": "1.1.0"})
    assert said(label("yes"), label("no", rubric=newer, created_at="2024-12-02T10:00:00Z")) == ["no"]


@pytest.mark.parametrize(
    "fields",
    [
        {"answer": None},
        {"answer": "yes", "score": 1},
        {"answer": None, "score": 1},
        {"criterion": "score", "answer": "yes"},
        {"criterion": "score", "answer": None, "score": 1, "call": 1},
        {"criterion": "score", "answer": None, "score": 2},
        {"annotator": "a\x1b[2J"},
        {"annotator": " "},
        {"state_digest": "sha256:zz"},
        {"created_at": "yesterday"},
        {"created_at": "2024-02-30T10:00:00Z"},
        {"sampling": {"design": "uniform", "probability": 0}},
        {"label_id": "../x"},
    ],
)
def test_a_label_that_says_nothing_or_two_things_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Label.model_validate(label("yes").model_dump() | fields)


def test_a_label_may_only_replace_ones_own_and_only_answer_the_same_question() -> None:
    first, other = label("yes"), label("no", step=2)
    known = {first.label_id: first, other.label_id: other}
    assert fault(later(first, supersedes=first.label_id), known) == ""
    assert "no label 'gone'" in fault(later(first, supersedes="gone"), known)
    assert "another question" in fault(later(first, supersedes=other.label_id), known)
    assert "to settle it, adjudicate" in fault(later(first, supersedes=first.label_id, annotator="x"), known)
    assert fault(later(first, adjudicates=(first.label_id,), annotator="x"), known) == ""


def test_nobody_adjudicates_a_label_of_ones_own() -> None:
    mine, other = label("yes"), label("no", annotator="other")
    known = {mine.label_id: mine, other.label_id: other}
    assert fault(later(mine, adjudicates=(other.label_id,)), known) == "", "a party may settle what others said"
    assert "your own" in fault(later(mine, adjudicates=(other.label_id, mine.label_id)), known)


def test_what_a_person_is_asked_leaves_out_what_does_not_apply() -> None:
    two = step(2, call(), call())
    assert questions(SMALL, two)[:3] == (("valid", 1), ("valid", 2), ("arguments", 1))
    assert [name for name, _ in questions(SMALL, step(1, message="hello"))] == ["valid", "relevant", "useful"]
    assert [name for name, _ in questions(SMALL, step(2, message="hello"))] == [
        "valid",
        "relevant",
        "useful",
        "recovery",
    ]


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 5))
def test_a_uniform_draw_is_nested_and_every_step_has_one_known_probability(size: int, count: int, seed: int) -> None:
    population = [Candidate(f"k{number}") for number in range(size)]
    sample = drawn(population, count, design="uniform", seed=seed)
    assert len(sample) == min(size, count)
    assert {each.sampling.probability for each in sample} == {min(1.0, count / size)}
    assert [each.key for each in drawn(population[::-1], count + 3, design="uniform", seed=seed)][: len(sample)] == [
        each.key for each in sample
    ]


def test_every_step_is_drawn_about_equally_often_over_seeds() -> None:
    population = [Candidate(f"k{number}") for number in range(20)]
    counts = dict.fromkeys((each.key for each in population), 0)
    for seed in range(400):
        for each in drawn(population, 5, design="uniform", seed=seed):
            counts[each.key] += 1
    assert sum(counts.values()) == 2_000
    assert all(60 <= count <= 140 for count in counts.values()), counts  # 100 expected, standard deviation 8.7


def test_disagreement_and_low_confidence_come_first_and_have_no_probability() -> None:
    population = [
        Candidate("agree", {"valid": (("yes",), ("yes",))}, 0.9),
        Candidate("one", {"valid": (("yes",), ("no",)), "useful": (("yes",), ("yes",))}, 0.4),
        Candidate("two", {"valid": (("yes", "no"), ("yes", "yes")), "useful": (("yes",), ("no",))}, None),
        Candidate("open", {"valid": (("yes",), ("undetermined",))}, 0.6),
    ]
    assert [each.key for each in drawn(population, 9, design="disagreement")] == ["two", "one"]
    unsure = drawn(population, 2, design="low_confidence")
    assert [each.key for each in unsure] == ["one", "open"]
    assert {(each.sampling.probability, each.sampling.population) for each in unsure} == {(None, 4)}


texts = st.text(max_size=30, alphabet=st.characters(exclude_categories=("Cs",)))


@st.composite
def many(draw: st.DrawFn) -> Label:
    word = draw(st.sampled_from(["yes", "no", "undetermined", 1, 0, -1]))
    blind = draw(st.booleans())
    return label(
        word,
        note=draw(texts | st.sampled_from(["=1+1", "-2", "'quoted", 'a,b\r\n"c"', "+", "@x", "\t"])),
        trace_id=draw(texts),
        call=None if isinstance(word, int) else draw(st.none() | st.integers(1, 9)),
        sampling=draw(st.sampled_from([DRAWN, Sampling(), Sampling(design="whole_traces", probability=1.0)])),
        blind=blind,
        adjudicates=("a", "b") if blind else (),
    )


@pytest.mark.parametrize("form", ["jsonl", "csv"])
@given(labels=st.lists(many(), max_size=5))
def test_a_label_file_reads_back_to_the_same_labels(
    tmp_path_factory: pytest.TempPathFactory, form: str, labels: list[Label]
) -> None:
    file = tmp_path_factory.mktemp("labels") / f"labels.{form}"
    file.write_bytes("".join(to_jsonl(labels) if form == "jsonl" else to_csv(labels)).encode())
    assert list(read_labels(file)) == labels


def test_no_cell_of_the_csv_is_a_formula_for_a_spreadsheet() -> None:
    lines = "".join(to_csv([label("yes", note="=HYPERLINK(1)", trace_id="@SUM(A1)")]))
    cells = next(iter(csv.DictReader(io.StringIO(lines))))
    assert (cells["note"], cells["trace_id"]) == ("'=HYPERLINK(1)", "'@SUM(A1)")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.jsonl", "{", "line 1: no JSON"),
        ("a.jsonl", "\n[]", "line 2: not a JSON object"),
        ("a.jsonl", '{"annotator": "x"}', "line 1: state_digest: Field required"),
        ("a.csv", "label_id,surprise\r\n1,2\r\n", "line 1: no column is called 'surprise'"),
        ("a.csv", "label_id,blind\r\nx\r\n", "line 2: not as many cells"),
        ("a.csv", "label_id,blind\r\nx,perhaps\r\n", "blind is 'perhaps'"),
        ("a.csv", "label_id,step\r\nx,one\r\n", "step is 'one': write a number"),
    ],
)
def test_a_file_that_holds_no_labels_is_refused_with_its_line(tmp_path: Path, name: str, text: str, says: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(BadLabelFile) as refused:
        list(read_labels(file))
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("valid", "relevant", "useful", "expected"),
    [
        ("yes", "yes", "yes", 1),
        ("yes", "yes", "no", 0),
        ("yes", "no", "no", -1),
        ("no", "yes", "no", -1),
        ("no", "no", "no", -1),
        ("yes", "yes", "undetermined", None),
        ("yes", "undetermined", "no", None),
        ("no", "undetermined", "undetermined", -1),
    ],
)
def test_five_criteria_map_to_the_score_of_step_ternary(
    valid: AnswerWord, relevant: AnswerWord, useful: AnswerWord, expected: int | None
) -> None:
    """The mapping of docs/rubrics.md, whatever arguments and recovery say."""
    for other in ("yes", "no", "not_applicable"):
        answers: dict[str, AnswerWord] = {"valid": valid, "relevant": relevant, "useful": useful}
        assert score(STEP_RUBRIC, {**answers, "arguments": other, "recovery": other}) == expected


@pytest.mark.parametrize(
    ("sound", "advances", "expected"),
    [
        ("yes", "yes", 1),
        ("yes", "no", 0),
        ("no", "no", -1),
        ("yes", "undetermined", None),
        ("undetermined", "no", None),
    ],
)
def test_step_ternary_scores_minus_one_zero_and_plus_one(
    sound: AnswerWord, advances: AnswerWord, expected: int | None
) -> None:
    assert score(TERNARY_RUBRIC, {"sound": sound, "advances": advances}) == expected
    assert TERNARY_RUBRIC.criterion("advances").implies == ("sound",), (
        "advancing without being sound is a contradiction"
    )
