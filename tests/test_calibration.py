"""A calibration learns from labels, holds for one rubric and judge, never reads a position, and needs no scikit-learn."""

import json
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from pydantic import ValidationError

from stepjudge.calibration import Calibration, Quality, Validation, WrongCalibration, calibrated
from stepjudge.calibration_features import features_of
from stepjudge.calibration_fit import About, CannotCalibrate, Example, fit
from stepjudge.contract import Scorecard, StepScore
from stepjudge.interval import Interval
from stepjudge.label import Sampling
from stepjudge.label_file import read_labels, to_jsonl
from stepjudge.rubric_file import read_rubric_file, shipped
from stepjudge.verdict import Fact

from commands import Commands
from labelling import label
from trial_scores import card, step

ABOUT = About("step@1.0.0", "sha256:step", "scripted", "sha256:0", "sha256:labels")
EXAMPLES = Path(__file__).parents[1] / "examples"
STEP = read_rubric_file(shipped() / "step" / "1.0.0.yaml")


def examples(count: int = 120, seed: int = 0) -> list[Example]:
    """A judge that says + of everything, and a fact that tells bad steps in nine cases of ten; three steps per task."""
    lot = random.Random(seed)
    made: list[Example] = []
    for place in range(count):
        bad = lot.random() < 0.4
        fact = bad if lot.random() < 0.9 else not bad
        scored = step(place % 3 + 1, "+").model_copy(update={"facts": (Fact(name="near_duplicate"),) if fact else ()})
        made.append(Example(f"t{place // 3}", scored.index, features_of(scored), "-1" if bad else "1", "1"))
    return made


@cache
def usual() -> Calibration:
    return fit(examples(), "score", ABOUT)


def test_it_finds_what_the_verdicts_miss_and_stands_beside_them() -> None:
    made = usual()
    found = made.validation
    assert found.calibrated.accuracy > 0.8
    assert found.raw.accuracy == found.always.accuracy < 0.7
    assert found.control.accuracy < 0.7
    assert found.helps
    told = card(steps=[step(1, "+"), step(2, "+").model_copy(update={"facts": (Fact(name="near_duplicate"),)})])
    first, second = calibrated(made, told)
    assert (first.raw, second.raw) == ("1", "1")
    assert first.probabilities["-1"] < 0.3 < 0.7 < second.probabilities["-1"]
    assert sum(second.probabilities.values()) == pytest.approx(1)


def test_labels_that_nothing_explains_give_probabilities_no_better_than_a_coin() -> None:
    lot = random.Random(4)
    noise = [
        each._replace(label=lot.choice(["-1", "1"]), features={"fact: x": float(lot.random() < 0.5)})
        for each in examples()
    ]
    found = fit(noise, "score", ABOUT).validation
    assert found.calibrated.log_loss is not None
    assert found.calibrated.log_loss > 0.65


def test_the_position_of_a_step_is_no_feature() -> None:
    here = step(1, "+").model_copy(update={"facts": (Fact(name="first_step"), Fact(name="hedge"))})
    there = here.model_copy(update={"index": 9, "turn": 4, "llm_call": 9, "facts": (Fact(name="hedge"),)})
    assert features_of(here) == features_of(there)
    assert "fact: hedge" in features_of(here)


def test_no_feature_of_real_scorecards_tells_the_first_step(tmp_path: Path) -> None:
    """Under the rubric `step` the fact `first_step` settles that recovery does not apply."""
    run = Commands(tmp_path)
    cards = [
        run.json("score", EXAMPLES / name / "trace.json", "--judge", "rules") for name in ("museum", "pytest-5262")
    ]
    steps = [StepScore.model_validate(each) for one in cards for each in one["steps"]]
    first = [each.index == 1 for each in steps]
    assert {each.answers["recovery"] for each in steps if each.index == 1} == {"not_applicable"}
    found = [features_of(each) for each in steps]
    for name in {name for each in found for name in each}:
        there = [name in each for each in found]
        assert there != first, name
        assert there != [not each for each in first], name


def test_what_may_be_luck_does_not_help() -> None:
    quality, better = Quality(accuracy=0.7, kappa=0.2), Quality(accuracy=0.72, kappa=0.2)
    sure, unsure = (Interval(low=low, high=0.1, method="", units=9) for low in (0.01, -0.01))
    found = Validation(folds=5, calibrated=better, raw=quality, control=quality, always=quality, gain=sure)
    assert found.helps
    assert not found.model_copy(update={"gain": unsure}).helps
    assert not found.model_copy(update={"gain": None}).helps
    assert not found.model_copy(update={"always": better}).helps, "the most frequent label does as well"


def test_labels_that_follow_the_position_alone_show_in_the_control_and_not_in_the_weights() -> None:
    """The first step of every task is good, the others are bad; answers and facts say nothing."""
    same = [
        each._replace(features={"answer: valid=yes": 1.0}, label="1" if each.position == 1 else "-1")
        for each in examples()
    ]
    found = fit(same, "score", ABOUT)
    assert found.validation.control.accuracy == 1
    assert found.validation.calibrated.accuracy == pytest.approx(2 / 3)
    assert not found.validation.helps


def test_it_refuses_another_rubric_another_judge_and_features_of_another_version() -> None:
    made = usual()
    with pytest.raises(WrongCalibration, match=r"rubric step@1\.0\.0, and the scorecard's is other"):
        calibrated(made, card("+", rubric="other"))
    other = card("+").model_copy(update={"judge": "else", "judge_digest": "sha256:1"})
    with pytest.raises(WrongCalibration, match="judge scripted, and the scorecard's is else"):
        calibrated(made, other)
    with pytest.raises(WrongCalibration, match="fit it anew"):
        calibrated(made.model_copy(update={"features_version": "0"}), card("+"))


def test_the_outcome_decides_the_final_step_of_a_single_answer_task_and_no_other() -> None:
    made = usual()
    first, last = calibrated(made, card("++"), outcome=0.0)
    assert last.decided_by_outcome
    assert last.probabilities == {"-1": 1.0, "1": 0.0}
    assert first == calibrated(made, card("++"))[0]


@pytest.mark.parametrize(
    ("some", "why"),
    [
        (examples(15), "15 labelled steps of 5 tasks"),
        ([each._replace(task="one") for each in examples()], "of 1 tasks"),
        ([each._replace(label="1") for each in examples()], "every label is '1'"),
    ],
)
def test_too_few_labels_are_refused(some: list[Example], why: str) -> None:
    with pytest.raises(CannotCalibrate, match=why):
        fit(some, "score", ABOUT)


def test_the_file_is_plain_json_and_reads_back_to_the_same_probabilities() -> None:
    made = usual()
    again = Calibration.model_validate_json(made.model_dump_json())
    assert again == made
    assert [term.feature for term in made.terms] == sorted(term.feature for term in made.terms)
    broken = json.loads(made.model_dump_json())
    broken["terms"][0]["weights"] = [1.0]
    with pytest.raises(ValidationError, match="one weight per class"):
        Calibration.model_validate(broken)


def test_the_same_labels_give_the_same_calibration_whatever_their_order() -> None:
    some = examples()
    one, other = usual(), fit(random.Random(1).sample(some, len(some)), "score", ABOUT)
    assert [term.feature for term in one.terms] == [term.feature for term in other.terms]
    odds = [made.probabilities({"fact: near_duplicate": 1.0, "answer: valid=yes": 1.0})["-1"] for made in (one, other)]
    assert odds[0] == pytest.approx(odds[1], abs=0.1)


def test_applying_one_needs_neither_scikit_learn_nor_numpy() -> None:
    program = (
        "import sys; import stepjudge.calibration, stepjudge.cli.calibrate; "
        "assert not {'sklearn', 'numpy', 'scipy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def scored(trace: int) -> Scorecard:
    """Three steps; the judge errs on the second of every fourth trace."""
    steps: list[StepScore] = [step(1, "+"), step(2, "-" if trace % 4 == 0 else "+"), step(3, "-" if trace % 2 else "+")]
    return card(steps=steps).model_copy(
        update={
            "trace_id": f"t{trace}",
            "rubric": card().rubric.model_copy(
                update={"name": STEP.name, "version": STEP.version, "digest": STEP.digest}
            ),
        }
    )


def files(folder: Path) -> tuple[Path, Path]:
    """Labels of two steps of each of 40 traces, drawn by lot; and the scorecards."""
    lot, labels = random.Random(6), folder / "labels.jsonl"
    truth = {(trace, number): -1 if number == 3 and trace % 2 else 1 for trace in range(60) for number in (1, 2, 3)}
    drawn = lot.sample(sorted(truth), 90)
    by_lot = Sampling(design="uniform", probability=0.5, population=180, seed=0)
    labels.write_text("".join(to_jsonl(
        label(truth[place], step=place[0] * 10 + place[1], rubric=STEP, task=place[0]).model_copy(
            update={"trace_id": f"t{place[0]}", "step": place[1], "sampling": by_lot}
        )
        for place in drawn
    )))  # fmt: skip
    cards = folder / "cards.json"
    cards.write_text(json.dumps({"scorecards": [scored(trace).model_dump(mode="json") for trace in range(60)]}))
    return labels, cards


def test_the_command_fits_applies_and_refuses(tmp_path: Path) -> None:
    labels, cards = files(tmp_path)
    run, out = Commands(tmp_path), tmp_path / "calibration.json"
    printed = run.run("calibrate", "fit", labels, cards, "--output", out)
    assert "control: the step's number alone" in printed
    assert "90 labelled steps of" in printed
    told = run.json("calibrate", "apply", out, cards)
    assert set(told["traces"]) == {f"t{trace}" for trace in range(60)}
    assert told["traces"]["t1"][2]["raw"] == "-1"
    assert "verdict  -1" in run.run("calibrate", "apply", out, cards)
    decided = run.json("calibrate", "apply", out, cards, "--outcome", "fail")
    assert decided["traces"]["t0"][2] | {"raw": "1"} == {
        "step": 3, "raw": "1", "probabilities": {"-1": 1.0, "1": 0.0}, "decided_by_outcome": True,
    }  # fmt: skip
    other = tmp_path / "other.json"
    other.write_text(scored(1).model_copy(update={"judge_digest": "sha256:9"}).model_dump_json())
    assert run.run("calibrate", "apply", out, other, status=1) == ""


def test_the_command_corrects_a_rate(tmp_path: Path) -> None:
    labels, cards = files(tmp_path)
    found = Commands(tmp_path).json("calibrate", "correct", labels, cards, "--reading", "bad")
    assert (found["n"], found["steps"], found["tasks"], found["method"]) == (90, 180, 60, "PPI++")
    assert found["judge_only"] == pytest.approx(45 / 180)
    assert found["interval"]["low"] < 30 / 180 < found["interval"]["high"]
    assert found["lam"] > 0.5
    assert "for new tasks" in Commands(tmp_path).run("calibrate", "correct", labels, cards, "--target", "new tasks")


def test_quality_is_measured_on_representative_labels_alone_and_the_others_are_only_learned_from() -> None:
    """Labels that were picked are the contrary of what the fact tells: they must not count as errors."""
    fair = examples(240)
    picked = [
        each._replace(representative=False, label="1" if each.label == "-1" else "-1") for each in examples(60, 9)
    ]
    found = fit([*fair, *picked], "score", ABOUT).validation
    assert found.measured == 240
    assert found.raw == usual_of(fair).raw
    assert found.always == usual_of(fair).always
    with pytest.raises(CannotCalibrate, match="10 of 130 labelled steps are labelled blind"):
        fit([*fair[:10], *(each._replace(representative=False) for each in fair[:120])], "score", ABOUT)


def usual_of(some: list[Example]) -> Validation:
    return fit(some, "score", ABOUT).validation


def test_the_command_says_which_labels_it_did_not_measure_on_and_which_met_nothing(tmp_path: Path) -> None:
    labels, cards = files(tmp_path)
    every = [*read_labels(labels)]
    every[0] = every[0].model_copy(update={"blind": False})
    every[1] = every[1].model_copy(update={"rubric": "step@0.9.0", "rubric_digest": "sha256:" + "0" * 64})
    every[2] = every[2].model_copy(update={"trace_id": "gone"})
    labels.write_text("".join(to_jsonl(every)))
    printed = Commands(tmp_path).run("calibrate", "fit", labels, cards, "--output", tmp_path / "c.json")
    assert "89 labelled steps of" in printed
    assert "measured on the 88 labelled blind and drawn with known probability; the other 1" in printed
    assert "1 of these labels were given for another version" in printed
    assert "1 labels met no step" in printed
    told = Commands(tmp_path).json("calibrate", "correct", labels, cards)
    assert (told["n"], told["left_out"], told["unmet"], told["other_wording"]) == (88, 1, 1, 1)
