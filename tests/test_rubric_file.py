"""A rubric file either spells a rubric or is refused with every fault at its line."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepjudge.errors import BadRubric
from stepjudge.rubric import Criterion, Example, Rubric, Scoring
from stepjudge.rubric_file import read_rubric, read_rubric_file, shipped
from stepjudge.rubric_folder import published, read_folders
from stepjudge.yaml_page import MAX_LENGTH

GOOD = """\
name: small
version: 1.0.0
instructions: Judge.
criteria:
  - name: seen
    unit: step
    question: Was it seen?
    examples:
      - given: It was dark.
        answer: no
        because: Nobody sees in the dark.
  - name: done
    unit: call
    step_takes: all
    question: Was it done?
    implies: [seen]
    needs_call: true
scoring:
  passes: [seen, done]
"""


def faults(text: str) -> list[str]:
    with pytest.raises(BadRubric) as refused:
        read_rubric(text, source="r")
    return str(refused.value).splitlines()


def with_line(number: int, line: str) -> str:
    lines: list[str] = [*GOOD.splitlines()]
    lines[number - 1] = line
    return "\n".join(lines)


def test_a_good_file_is_read_with_lists_as_tuples() -> None:
    assert read_rubric(GOOD) == Rubric(
        name="small",
        version="1.0.0",
        instructions="Judge.",
        criteria=(
            Criterion(
                name="seen",
                unit="step",
                question="Was it seen?",
                examples=(Example(given="It was dark.", answer="no", because="Nobody sees in the dark."),),
            ),
            Criterion(
                name="done", unit="call", step_takes="all", question="Was it done?", implies=("seen",), needs_call=True
            ),
        ),
        scoring=Scoring(passes=("seen", "done")),
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (with_line(1, "name: Small Rubric"), "r:1:7: 'name' is 'Small Rubric': write a lower-case word, such as step"),
        (with_line(2, "version: 1.0"), "r:2:10: 'version' is '1.0': write three numbers, such as 1.0.0"),
        (with_line(3, "instructions:"), "r:3:14: 'instructions' must be text and is empty: give it a text"),
        (with_line(3, "instructions: true"), "r:3:15: 'instructions' must be text and is True: put the text in quotes"),
        (with_line(3, ""), "r:1:1: the rubric has no 'instructions': add it"),
        (with_line(6, "    unit: turn"), "r:6:11: 'unit' is 'turn': write 'call' or 'step'"),
        (with_line(7, ""), "r:5:5: the criterion has no 'question': add it"),
        (with_line(10, "        answr: no"), "r:10:9: unknown key 'answr': did you mean 'answer'?"),
        (with_line(10, "        answer: maybe"), "r:10:17: 'answer' is 'maybe': write"),
        (with_line(15, "    needs: [a]"), "r:15:5: unknown key 'needs': did you mean 'needs_call'?"),
        (with_line(15, "    zzz: [a]"), "r:15:5: unknown key 'zzz': the criterion takes name, unit, step_takes"),
        (with_line(16, "    implies: seen"), "r:16:14: 'implies' must be a list and is 'seen': write '- ' before"),
        (with_line(16, "    yes_when: [a, {b: c}]"), "r:16:19: item 2 of 'yes_when' must be text and is {'b': 'c'}"),
        (with_line(17, "    needs_call: yes"), "r:17:17: 'needs_call' must be true or false and is 'yes'"),
        (with_line(19, "  passes: []"), "r:19:11: 'passes' has no item: give it at least one"),
        (with_line(16, "    no_by_fact: [repeats]"), "r:16:18: item 1 of 'no_by_fact' is 'repeats': write 'rejected'"),
        (GOOD.replace("criteria:\n", "criteria: []\nx:\n"), "r:4:11: 'criteria' has no item"),
        (GOOD.replace("scoring:\n  passes: [seen, done]", "scoring: seen"), "r:18:10: 'scoring' must be a mapping"),
    ],
)
def test_what_does_not_fit_is_reported_at_its_line_with_the_mend(text: str, fault: str) -> None:
    assert any(found.startswith(fault) for found in faults(text)), faults(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (with_line(12, "  - name: seen"), "r:12:11: criterion 'seen' stands twice, first on line 5: keep one"),
        (with_line(14, "    step_takes: all\n    unit: call"), "r:15:5: the key 'unit' stands twice, first on line 13"),
        (
            with_line(6, "    unit: step\n    step_takes: any"),
            "r:7:5: criterion 'seen' has unit 'step', so 'step_takes' is unreachable: remove it",
        ),
        (with_line(14, ""), "r:13:5: criterion 'done' has unit 'call' and needs 'step_takes: all' or"),
        (
            with_line(6, "    unit: step\n    needs_call: true"),
            "r:7:5: criterion 'seen' has unit 'step', so 'needs_call'",
        ),
        (
            with_line(16, "    implies: [sen]"),
            "r:16:5: criterion 'done' implies 'sen', which does not exist: the criteria",
        ),
        (with_line(19, "  passes: [sen]"), "r:19:3: scoring names the criterion 'sen', which does not exist"),
    ],
)
def test_what_cannot_hold_together_is_reported_at_its_line(text: str, fault: str) -> None:
    assert any(found.startswith(fault) for found in faults(text)), faults(text)


def test_all_faults_of_a_file_are_told_at_once_and_in_the_order_of_lines() -> None:
    text = GOOD.replace("version: 1.0.0", "version: x").replace("unit: step", "unit: step\n    step_takes: all")
    text = text.replace("needs_call: true", "needs_cal: true\n    unit: step").replace("[seen, done]", "[seen, dome]")
    assert [fault.split(":")[1] for fault in faults(text)] == ["2", "7", "18", "19", "21"]


@pytest.mark.parametrize(
    "word", ["yes", "no", "on", "off", "y", "1.0", "1_000", "0x1f", "2026-01-01", "1:30", ".inf", "1e3"]
)
def test_a_word_that_old_yaml_takes_for_something_else_stays_the_text_it_is(word: str) -> None:
    assert read_rubric(with_line(3, f"instructions: {word}")).instructions == word


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "r:1:1: the file is empty"),
        ("# only a comment\n", "r:1:1: the file is empty"),
        ("- name: x", "r:1:1: the file is no mapping"),
        ("just words", "r:1:1: the file is no mapping"),
        (GOOD + "---\nname: other\n", "r:20:1: a second document starts here"),
        (with_line(7, "\tquestion: x"), "r:7:1: found character '\\t' that cannot start any token: indent with spaces"),
        (with_line(7, "    question: Seen: or not?"), "r:7:19: mapping values are not allowed here: put a text that holds"),
        (with_line(7, "    question: @home?"), "r:7:15: found character '@' that cannot start any token: put the text in"),
        (with_line(7, "    question: 'open"), "r:19:23: found unexpected end of stream (while scanning a quoted scalar, which starts on line 7)"),
        (with_line(7, '    question: "\\ud800"'), "r:7:15: the text holds '\\ud800', a control character: remove it"),
        (with_line(7, '    question: "\\e[31m"'), "r:7:15: the text holds '\\x1b', a control character: remove it"),
        (with_line(7, "    question: \x00"), "r:7:15: '\\x00' is no printable character: remove it"),
        (with_line(7, "    question: \ud800"), "r:7:15: '\\ud800' is no printable character: remove it"),
        (with_line(7, '    question: "\\UFFFFFFFF"'), "r:7:"),
        (with_line(7, "    {a: b}: c"), "r:7:5: a key must be a word"),
        (with_line(7, "    question: &a x"), "r:7:15: anchors and aliases ('a') are not taken"),
        (with_line(7, "    question: !!python/name:os.system x"), "r:7:15: tags ("),
        (f"x: {'[' * 50_000}", "r:1:19: nested deeper than 16 levels"),
        (f"x: [{'a, ' * 6_000}]", "r:1:"),
        ("%YAML 1." + "9" * 5_000 + "\n---\n" + GOOD, "r:1:"),
        ("x" * (MAX_LENGTH + 1), "r:1:1: the file is longer than 100,000 characters"),
    ],
)  # fmt: skip
def test_what_is_no_plain_yaml_is_refused_with_one_fault_where_it_stands(text: str, fault: str) -> None:
    assert any(found.startswith(fault) for found in faults(text)), faults(text)


def test_a_billion_laughs_are_refused_at_the_first() -> None:
    laughs = "a0: &a0 ha\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    assert faults(laughs) == [
        "r:1:5: anchors and aliases ('a0') are not taken: write the text out, or put '&' and '*' in quotes"
    ]


def test_a_file_that_is_not_utf_8_is_refused_at_the_byte(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes("name: small\ntitle: caf\u00e9\n".encode("latin-1"))
    with pytest.raises(BadRubric, match=re.escape(f"{file}:2:11: byte 0xe9 is not UTF-8: save it as UTF-8")):
        read_rubric_file(file)


def test_a_file_that_is_too_long_or_not_there_is_refused(tmp_path: Path) -> None:
    huge = tmp_path / "huge.yaml"
    huge.write_text("é" * (4 * MAX_LENGTH))
    with pytest.raises(BadRubric, match=r"huge\.yaml:1:1: the file is longer than"):
        read_rubric_file(huge)
    with pytest.raises(BadRubric, match="cannot be read: No such file"):
        read_rubric_file(tmp_path / "absent.yaml")
    with pytest.raises(BadRubric, match="cannot be read"):
        read_rubric_file(tmp_path)


def test_line_ends_and_a_byte_order_mark_do_not_change_the_digest() -> None:
    text = GOOD.replace("Judge.", "|\n  Judge.\n  Well.")
    assert read_rubric("\ufeff" + text.replace("\n", "\r\n")).digest == read_rubric(text).digest


def test_a_published_name_and_version_with_other_content_is_refused_at_its_version() -> None:
    with pytest.raises(BadRubric, match=r"^rubric:2:10: small@1\.0\.0 is published with other content"):
        read_rubric(GOOD, published={"small@1.0.0": "sha256:0"})
    assert read_rubric(GOOD, published={"small@1.0.0": read_rubric(GOOD).digest, "small@2.0.0": "sha256:0"})


# The shipped rubrics


def test_no_published_rubric_was_edited_and_every_shipped_rubric_is_published() -> None:
    digests = {rubric.reference: rubric.digest for rubric in read_folders([shipped()], {})}
    assert digests == published(shipped())


def test_the_first_published_rubric_is_the_one_that_was_published() -> None:
    # A second lock: editing file and list together is as wrong as editing one.
    assert (
        published(shipped())["step@1.0.0"] == "sha256:f0e9d298df9d5d6937d5e8d96a0a15afeb3bd56be1e2997ec4506f06188b2a06"
    )


def test_every_shipped_rubric_stands_in_the_file_of_its_name_and_version() -> None:
    files = sorted(shipped().rglob("*.yaml"))
    assert files
    for file in files:
        rubric = read_rubric_file(file)
        assert file.relative_to(shipped()) == Path(rubric.name, f"{rubric.version}.yaml")


def test_the_step_rubric_is_short_enough_to_go_along_with_every_prompt() -> None:
    step = read_rubric_file(shipped() / "step" / "1.0.0.yaml")
    assert len(step.model_dump_json(exclude_defaults=True)) / 4 < 2_500


def test_the_step_rubric_has_the_criteria_and_the_scoring_of_the_ordinal_score() -> None:
    step = read_rubric_file(shipped() / "step" / "1.0.0.yaml")
    assert [(c.name, c.unit, c.step_takes, c.implies) for c in step.criteria] == [
        ("valid", "call", "all", ()),
        ("arguments", "call", "all", ()),
        ("relevant", "call", "any", ()),
        ("useful", "call", "any", ("valid", "relevant")),
        ("recovery", "step", None, ("valid", "relevant")),
    ]
    assert step.scoring == Scoring(
        passes=("valid", "relevant", "useful"),
        bad=("valid", "relevant"),
        right_tool=("relevant",),
        arguments="arguments",
        recovery="recovery",
    )


def test_the_example_in_the_documentation_is_a_rubric() -> None:
    page = Path(__file__).parents[1] / "docs" / "rubrics.md"
    example = re.search(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    assert read_rubric(example[1]).reference == "refunds@1.0.0"


# Laws

words = st.text(st.characters(exclude_categories=("Cc", "Cs", "Cn", "Zl", "Zp")), max_size=20)
texts = st.lists(words, max_size=2).map(tuple)
names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
examples = st.builds(Example, given=words, answer=st.sampled_from(["yes", "no", "undetermined"]), because=words)


@st.composite
def criteria(draw: st.DrawFn, name: str, others: list[str]) -> Criterion:
    unit = draw(st.sampled_from(["call", "step"]))
    return Criterion.model_validate(
        {
            "name": name,
            "unit": unit,
            "step_takes": draw(st.sampled_from(["all", "any"])) if unit == "call" else None,
            "question": draw(words),
            "yes_when": draw(texts),
            "edge_cases": draw(texts),
            "examples": draw(st.lists(examples, max_size=2)),
            "needs_call": unit == "call" and draw(st.booleans()),
            "implies": [other for other in others if other != name and draw(st.booleans())],
        }
    )


@st.composite
def rubrics(draw: st.DrawFn) -> Rubric:
    chosen = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    return Rubric(
        name="drawn",
        version=".".join(str(draw(st.integers(0, 30))) for _ in range(3)),
        title=draw(words),
        instructions=draw(words),
        shows_reasoning=draw(st.booleans()),
        criteria=tuple(draw(criteria(name, chosen)) for name in chosen),
        scoring=Scoring(passes=(draw(st.sampled_from(chosen)),)),
    )


@given(rubrics())
@settings(deadline=None)
def test_a_rubric_written_as_json_which_is_yaml_is_read_back_the_same(rubric: Rubric) -> None:
    written = json.dumps(rubric.model_dump(mode="json"), ensure_ascii=False)
    assert read_rubric(written) == rubric


def read_or_refused(text: str) -> None:
    try:
        rubric = read_rubric(text, source="here")
    except BadRubric as error:
        lines = str(error).split("\n")
        assert all(re.match(r"here:[1-9]\d*:[1-9]\d*: .", line) for line in lines)
        positions = [tuple(map(int, line.split(":")[1:3])) for line in lines]
        assert positions == sorted(positions)
        assert all(line <= len(text.splitlines()) + 1 for line, _ in positions)
    else:
        assert rubric.digest.startswith("sha256:")


@given(st.text() | st.text("ab:-?[]{}&*!|>'\"%@`#,. \n\t\\\u2028\x85\ufeff\ud8000"))
@settings(deadline=None, max_examples=300)
def test_any_text_is_a_rubric_or_is_refused_line_by_line(text: str) -> None:
    read_or_refused(text)


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """A good file with some lines cut, doubled, moved or spoilt: near misses, which plain random text never reaches."""
    lines: list[str] = [*GOOD.splitlines()]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        spoilt = draw(
            st.sampled_from(["", "  - ", "    name: seen", "    examples: [x, {}]", "  ? [1]", "scoring:", "x: {{"])
        )
        edit = draw(st.sampled_from(["cut", "double", "spoil", "indent", "insert"]))
        kept = {"cut": [], "double": [lines[at]] * 2, "spoil": [spoilt], "indent": [f"  {lines[at]}"]}
        lines[at : at + 1] = kept.get(edit, [lines[at], lines[at][: draw(st.integers(0, 12))] + draw(words)])
        lines = lines or [""]
    return "\n".join(lines)


@given(mangled())
@settings(deadline=None, max_examples=300)
def test_a_spoilt_rubric_is_a_rubric_or_is_refused_line_by_line(text: str) -> None:
    read_or_refused(text)
