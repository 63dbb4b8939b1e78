"""`stepjudge label` as an annotator uses it: real keys on a real terminal; and what comes in and goes out as files."""

import json
from pathlib import Path

import pytest

from stepjudge.client import JudgeClient
from stepjudge.label import SCORE, Label, settled, standing

from commands import Commands
from judged import judged
from screen import Screen, on_screen
from serving import serving

MUSEUM = "examples/museum/trace.json"
KEYS = "q quit"


def pressed(screen: Screen, keys: str) -> str:
    """Press keys, each when its question is asked; gives what was shown."""
    shown = ""
    for key in keys:
        screen.press(key)
        shown += screen.wait_for(KEYS)
    return shown


def stored(url: str) -> tuple[Label, ...]:
    with JudgeClient(url) as client:
        return client.all_labels()


@pytest.fixture
def url(tmp_path: Path):
    with serving(tmp_path / "service") as url:
        yield url


def test_one_key_is_one_answer_and_the_session_goes_on_where_it_stopped(tmp_path: Path, url: str) -> None:
    arguments = ("label", MUSEUM, "--annotator", "ann", "--count", 2, "--url", url)
    with on_screen(tmp_path, *arguments) as screen:
        first = screen.wait_for(KEYS)
        assert "0/2  valid" in first
        assert "the step in question" in first
        pressed(screen, "yn")
        screen.press("q")
        assert "0/2 steps labelled. The same command goes on here." in screen.wait_for("goes on here.")
        assert screen.ended() == 0
    labels = stored(url)
    assert [(each.criterion, each.answer, each.annotator, each.blind) for each in labels] == [
        ("valid", "yes", "ann", True),
        ("relevant", "no", "ann", True),
    ]
    sampling = labels[0].sampling
    assert (sampling.design, sampling.probability, sampling.population) == ("uniform", 2 / 6, 6)

    with on_screen(tmp_path, *arguments) as screen:
        again = screen.wait_for(KEYS)
        assert "0/2  useful" in again, "what was answered is not asked again"
        shown = pressed(screen, "uy")
        assert "1/2" in shown
        # the other step has four or five questions: answer until the end, keys ahead of the questions
        screen.press("yyyyy")
        screen.wait_for("2/2 steps labelled.")
        assert screen.ended() == 0
    assert [each.answer for each in stored(url)][2:4] == ["undetermined", "yes"]


def test_back_replaces_take_back_withdraws_and_a_comment_goes_along(tmp_path: Path, url: str) -> None:
    with on_screen(tmp_path, "label", MUSEUM, "--annotator", "ann", "--count", 1, "--url", url) as screen:
        screen.wait_for(KEYS)
        pressed(screen, "y")
        assert "you said yes" in pressed(screen, "b")
        screen.press("c")
        screen.wait_for("comment")
        screen.press("it was refused\r")
        screen.wait_for(KEYS)
        pressed(screen, "n")  # valid: no, instead of yes
        pressed(screen, "y")  # relevant: yes
        pressed(screen, "bx")  # and taken back
        assert "nothing to label" not in pressed(screen, "?")
        screen.press("q")
        assert screen.ended() == 0
    labels = stored(url)
    assert [(each.criterion, each.answer, each.note) for each in labels] == [
        ("valid", "yes", ""),
        ("valid", "no", "it was refused"),
        ("relevant", "yes", ""),
        ("relevant", None, ""),
    ]
    assert [each.supersedes for each in labels] == [None, labels[0].label_id, None, labels[2].label_id]
    assert [each.said for each in standing(labels)] == ["no"]


def test_no_key_shows_what_the_judge_said_before_the_labels_are_in(tmp_path: Path) -> None:
    with judged(tmp_path / "service") as service:
        with JudgeClient(service.url) as client:
            client.score(json.loads(Path(MUSEUM).read_text()))
        with on_screen(
            tmp_path, "label", "--annotator", "ann", "--count", 6, "--show-judge", "--score", "--url", service.url
        ) as screen:
            shown = screen.wait_for(KEYS) + pressed(screen, "m?")
            assert "scripted" not in shown, "neither the judge's name nor its reasons"
            assert "What is the step worth?" in shown
            after = pressed(screen, "+")
            assert after.index("openai/scripted by step@1.0.0: valid") < after.index("1/6")
            screen.press("b-")  # a change in sight of the judge's answer
            screen.wait_for("→ -1")
            screen.press("\x03")
            assert screen.ended() == 0
        labels = stored(service.url)
    assert [(each.criterion, each.score, each.blind) for each in labels] == [(SCORE, 1, True), (SCORE, -1, False)]


def test_neither_later_steps_nor_control_characters_of_a_trace_reach_the_annotator(tmp_path: Path, url: str) -> None:
    attack = "\x1b]0;owned\x07\x1b[2J\u202egnp"
    messages = [{"role": "user", "content": f"Do it. {attack}"}, {"role": "assistant", "content": f"Now {attack}"}]
    messages += [{"role": "user", "content": "LATER"}, {"role": "assistant", "content": f"Done {attack}"}]
    (tmp_path / "trace.json").write_text(json.dumps({"messages": messages}))
    arguments = ("label", tmp_path / "trace.json", "--annotator", "ann", "--design", "all", "--url", url)
    with on_screen(tmp_path, *arguments) as screen:
        first = screen.wait_for(KEYS)
        assert "LATER" not in first
        assert "step 2" not in first
        assert "LATER" in pressed(screen, "s")
        screen.press("q")
        screen.ended()
        for sequence in (b"\x1b]0;", b"\x1b[2J", b"\x07", "\u202e".encode()):
            assert sequence not in screen.raw
    assert "⟨U+001B⟩" in screen.text


def test_annotators_differ_and_a_third_one_settles_it(tmp_path: Path, url: str) -> None:
    for name, key in (("ann", "y"), ("bob", "n")):
        with on_screen(
            tmp_path, "label", MUSEUM, "--annotator", name, "--criterion", "valid", "--count", 1, "--url", url
        ) as screen:
            screen.wait_for(KEYS)
            screen.press(key)
            screen.wait_for("1/1 steps labelled.")
    assert [each.said for each in settled(stored(url))] == [None]
    with on_screen(tmp_path, "label", "--adjudicate", "--annotator", "eve", "--url", url) as screen:
        shown = screen.wait_for(KEYS)
        assert "ann said yes" in shown
        assert "bob said no" in shown
        screen.press("n")
        screen.wait_for("1/1 steps labelled.")
    [point] = settled(stored(url))
    assert (point.said, point.adjudicated) == ("no", True)


def test_labels_go_out_and_come_in_as_files_and_agreement_is_printed(tmp_path: Path) -> None:
    there, here = Commands(tmp_path / "there"), Commands(tmp_path / "here")
    with JudgeClient.embedded(data_dir=tmp_path / "there") as client:
        kept = client.keep(json.loads(Path(MUSEUM).read_text()))
        first = kept.steps[0]
        client.label(
            [
                Label(
                    state_digest=first.state_digest,
                    step_digest=first.step_digest,
                    task_digest=kept.task_digest,
                    step=1,
                    rubric="step@1.0.0",
                    rubric_digest=kept.rubric.digest,
                    criterion="valid",
                    call=1,
                    answer="yes",
                    annotator="ann",
                    note='a, "b"\nc',
                )
            ]
        )
    for form in ("jsonl", "csv"):
        there.run("label", "export", "--format", form, "-o", tmp_path / f"labels.{form}")
    assert "1 labels stored, 0 were there already" in here.run("label", "import", tmp_path / "labels.csv")
    assert "0 labels stored, 1 were there already" in here.run("label", "import", tmp_path / "labels.jsonl")
    assert here.run("label", "export") == there.run("label", "export")

    here.run("score", MUSEUM)
    shown = here.run("label", "agreement", "--every")
    assert "valid       too few examples to say: 1 of 50 blind labels" in shown
    assert "provisional: passes" in shown
    report = here.json("label", "agreement", "--every")["reports"][0]
    assert (report["labelled"]["judge"], report["labelled"]["annotators"]) == ("rules", ["ann"])
    assert here.json("label", "agreement")["reports"][0]["labelled"]["steps"] == 0, "that label was not blind"


def test_labels_that_traces_carry_are_imported_once_and_measure_the_judge(tmp_path: Path) -> None:
    command = Commands(tmp_path)
    rows = [
        {
            "data_source": "made",
            "query_index": number,
            "sample_index": 0,
            "messages": [
                {"role": "user", "content": f"What is {number}?"},
                {"role": "assistant", "content": "Let me see."},
                {"role": "user", "content": "Well?"},
                {"role": "assistant", "content": f"It is {number}."},
            ],
            "step_labels": {"1": 0, "3": 1},
            "final_label": 1,
        }
        for number in range(3)
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    imported = ("label", "import", "--from-traces", file, "--annotator", "benchmark")
    assert "6 labels stored, 0 were there already" in command.run(*imported)
    assert "0 labels stored, 6 were there already" in command.run(*imported)
    command.run("score", file)
    [report] = command.json("label", "agreement")["reports"]
    score = next(each for each in report["labelled"]["readings"] if each["reading"] == "score")
    assert (score["agreement"]["labelled"], score["agreement"]["answered"]) == (6, 0), "the rules cannot read messages"
    assert report["labelled"]["first_error"]["traces"] == 3
    assert report["labelled"]["floors"][0]["first_error_matches"] == 3


def test_steps_of_a_trace_on_which_judges_differ_come_without_a_probability(tmp_path: Path) -> None:
    def differing(step: int, _unit: str, criterion: str) -> str:
        # the facts of the museum's steps say no to useful where a result failed: the model agrees, but for one step
        return "not_applicable" if criterion == "recovery" else "no" if step == 1 else "yes"

    with judged(tmp_path / "service", answers=differing) as service:
        with JudgeClient(service.url) as client:
            for judge in ("rules", "openai/scripted"):
                client.score(json.loads(Path(MUSEUM).read_text()), judge=judge)
        with on_screen(
            tmp_path, "label", MUSEUM, "--annotator", "a", "--design", "disagreement", "--url", service.url
        ) as screen:
            assert "0/1  valid" in screen.wait_for(KEYS), "the rules answer step 1, and the model says otherwise"
            screen.press("yq")
            screen.ended()
        [label] = stored(service.url)
    assert (label.step, label.sampling.design, label.sampling.probability) == (1, "disagreement", None)


def test_without_a_terminal_labelling_says_where_labels_come_in(tmp_path: Path) -> None:
    command = Commands(tmp_path)
    assert command.run("label", MUSEUM, status=2) == ""
    assert "Label steps of TRACES" in command.run("label", "run", "--help")
    assert "Commands:" in command.run("label", "--help")
