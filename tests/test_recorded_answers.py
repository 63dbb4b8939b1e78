"""Recorded answers of other judges: how rows are read, and the published figures of twenty judges."""

import gzip
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stepjudge.recorded_answers import BadRecordedAnswers, paired, read_recorded, unlabelled

DATA = Path(__file__).parents[2] / "shared" / "data" / "agentprocessbench"
with_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public labels and answers lie beside the checkout only")

# right / steps, step accuracy, first errors found / 250, first-error accuracy, missing, silent 0, then precision / recall / F1
# of +1, 0 and −1, balanced accuracy, kappa, quadratic kappa, alpha nominal and ordinal, kappa good and bad, FE-F1; as an
# independent computation from the released files has them. Step and first-error accuracy also stand in the paper's table.
HOTPOTQA = """
Gemini-3-Flash-Preview|563/734|76.70|175|70.0|0|4|0.80/0.95/0.87|0.26/0.29/0.27|0.88/0.41/0.56|0.548|0.445|0.528|0.434|0.514|0.508|0.476|48.8
Gemini-3-Flash-Preview-Thinking|556/734|75.75|176|70.4|0|1|0.81/0.93/0.86|0.23/0.23/0.23|0.78/0.45/0.57|0.536|0.434|0.522|0.427|0.510|0.498|0.474|52.7
DeepSeek-V3.2|546/734|74.39|163|65.2|0|0|0.82/0.88/0.85|0.27/0.48/0.35|0.78/0.45/0.57|0.604|0.447|0.523|0.443|0.516|0.500|0.479|49.5
GPT-5.2-Thinking-medium|531/734|72.34|183|73.2|0|0|0.86/0.89/0.87|0.18/0.48/0.26|0.86/0.34/0.49|0.570|0.430|0.591|0.419|0.611|0.596|0.406|58.6
GPT-5.2|529/734|72.07|174|69.6|0|0|0.87/0.87/0.87|0.19/0.52/0.28|0.80/0.36/0.49|0.583|0.434|0.589|0.424|0.612|0.598|0.404|53.4
Kimi-K2.5|526/734|71.66|168|67.2|0|0|0.87/0.80/0.83|0.24/0.64/0.35|0.73/0.51/0.60|0.650|0.453|0.557|0.446|0.551|0.521|0.498|57.2
GPT-5.2-Chat|524/734|71.39|175|70.0|0|0|0.87/0.81/0.84|0.25/0.80/0.38|0.86/0.41/0.55|0.675|0.450|0.558|0.438|0.559|0.535|0.470|51.7
Kimi-K2.5-Thinking|518/734|70.57|171|68.4|30|0|0.82/0.89/0.86|0.25/0.47/0.33|0.78/0.34/0.47|0.566|0.392|0.464|0.384|0.468|0.464|0.387|47.5
DeepSeek-V3.2-Thinking|517/734|70.44|173|69.2|0|0|0.82/0.86/0.84|0.22/0.52/0.31|0.71/0.34/0.46|0.570|0.381|0.467|0.372|0.483|0.481|0.356|56.5
Qwen3-30B-A3B-Thinking-2507|514/734|70.03|162|64.8|0|0|0.73/0.92/0.82|0.26/0.18/0.21|0.66/0.25/0.36|0.450|0.237|0.260|0.210|0.216|0.239|0.266|45.7
Qwen3-4B-Thinking-2507|491/734|66.89|151|60.4|0|0|0.71/0.91/0.80|0.20/0.21/0.21|0.65/0.13/0.22|0.420|0.154|0.160|0.114|0.114|0.163|0.151|26.4
Qwen3-4B-Instruct-2507|489/734|66.62|148|59.2|0|0|0.71/0.90/0.80|0.30/0.38/0.33|0.54/0.11/0.18|0.460|0.164|0.120|0.127|0.098|0.162|0.106|24.9
Qwen3-30B-A3B-Instruct-2507|483/734|65.80|136|54.4|0|0|0.74/0.91/0.81|0.18/0.29/0.22|0.45/0.08/0.14|0.425|0.170|0.184|0.136|0.197|0.253|0.071|14.1
Qwen3-8B|443/734|60.35|143|57.2|11|0|0.72/0.83/0.77|0.18/0.41/0.25|0.47/0.08/0.14|0.439|0.127|0.106|0.097|0.107|0.145|0.070|18.9
Qwen3-4B-Thinking|441/734|60.08|140|56.0|0|0|0.73/0.76/0.75|0.18/0.45/0.26|0.48/0.20/0.28|0.470|0.167|0.167|0.152|0.165|0.170|0.163|20.4
Qwen3-8B-Thinking|438/734|59.67|145|58.0|6|0|0.75/0.79/0.77|0.10/0.24/0.14|0.49/0.20/0.28|0.409|0.161|0.232|0.146|0.232|0.226|0.164|33.8
Qwen3-4B|430/734|58.58|148|59.2|0|21|0.71/0.78/0.74|0.19/0.57/0.28|0.67/0.04/0.08|0.466|0.112|0.050|0.072|0.053|0.094|0.055|5.6
Llama-3.3-70B-Instruct|340/734|46.32|150|60.0|0|0|0.70/0.58/0.64|0.13/0.70/0.22|0.53/0.06/0.10|0.445|0.074|0.040|-0.000|0.046|0.058|0.057|12.6
Llama-3.2-3B-Instruct|325/734|44.28|146|58.4|14|19|0.72/0.59/0.65|0.11/0.69/0.19|0.00/0.00/0.00|0.425|0.062|0.039|-0.028|0.061|0.081|-0.006|0.0
Llama-3.1-8B-Instruct|254/734|34.60|134|53.6|37|1|0.63/0.41/0.50|0.12/0.73/0.20|0.30/0.08/0.13|0.408|-0.010|-0.132|-0.119|-0.163|-0.116|0.037|12.5
""".strip().splitlines()

# FE-F1 of six judges on gaia_dev, from the same computation; its two floors; and the right answers of the best judge
GAIA_F1 = {
    "Gemini-3-Flash-Preview-Thinking": "68.7",
    "Kimi-K2.5-Thinking": "61.5",
    "GPT-5.2-Chat": "61.4",
    "GPT-5.2-Thinking-medium": "62.0",
    "Gemini-3-Flash-Preview": "55.2",
    "Qwen3-30B-A3B-Thinking-2507": "46.8",
    "Qwen3-4B-Instruct-2507": "31.0",
    "Llama-3.2-3B-Instruct": "3.2",
}


@cache
def audits(dataset: str) -> dict[str, dict[str, Any]]:
    """Every recorded judge of a data set, through the command."""
    files = sorted(DATA.glob(f"judges/*/{dataset}.jsonl"))
    program = [sys.executable, "-c", "from stepjudge.cli.main import main; main()", "audit", "import", "--json"]
    done = subprocess.run(
        [*program, *map(str, files), str(DATA / f"{dataset}_labels.jsonl")], capture_output=True, text=True, check=True
    )
    return {each["judge"]: each for each in json.loads(done.stdout)["audits"]}


def printed(audit: dict[str, Any]) -> str:
    """An audit as a row of the table above."""
    score, first = audit["score"], audit["first_error"]
    classes = {each["answer"]: each for each in score["classes"]}
    by_class = [
        "/".join(f"{classes[answer][name] or 0:.2f}" for name in ("precision", "recall", "f1")) for answer in (1, 0, -1)
    ]
    matches = sum(row[place] for place, row in enumerate(score["confusion"]))
    figures = ("balanced_accuracy", "kappa", "kappa_quadratic", "alpha_nominal", "alpha_ordinal")
    cells = [
        audit["judge"],
        f"{matches}/{audit['steps']}",
        f"{100 * score['raw']['value']:.2f}",
        str(first["matches"]),
        f"{100 * first['accuracy']['value']:.1f}",
        str(audit["missing"]),
        str(audit["silent"]),
        *by_class,
        *(f"{score[name]['value']:.3f}" for name in figures),
        f"{audit['passes']['kappa']['value']:.3f}",
        f"{audit['bad']['kappa']['value']:.3f}",
        f"{100 * first['f1']['value']:.1f}",
    ]
    return "|".join(cells)


@with_data
@pytest.mark.parametrize("row", HOTPOTQA, ids=lambda row: row.split("|")[0])
def test_every_recorded_judge_of_hotpotqa_has_the_published_figures_to_the_last_digit(row: str) -> None:
    assert printed(audits("hotpotqa")[row.split("|")[0]]) == row


@with_data
def test_the_recorded_judges_of_gaia_have_their_published_figures() -> None:
    found = audits("gaia_dev")
    assert len(found) == 20
    assert {name: f"{100 * found[name]['first_error']['f1']['value']:.1f}" for name in GAIA_F1} == GAIA_F1
    best = max(found.values(), key=lambda audit: audit["score"]["raw"]["value"])
    assert best["judge"] == "Gemini-3-Flash-Preview-Thinking"
    assert f"{100 * best['score']['raw']['value']:.2f}" == "79.73"
    assert {audit["steps"] for audit in found.values()} == {1628}


@with_data
@pytest.mark.parametrize(
    ("dataset", "plus", "first", "position"), [("hotpotqa", "67.98", 58.4, 72.2), ("gaia_dev", "37.59", 26.8, 68.4)]
)
def test_the_floors_stand_beside_every_judge(dataset: str, plus: str, first: float, position: float) -> None:
    for audit in audits(dataset).values():
        always, alone = audit["floors"]
        assert f"{100 * always['matches'] / always['steps']:.2f}" == plus
        assert 100 * always["first_error_matches"] / always["traces"] == pytest.approx(first)
        # the folds are drawn at random, so this one floor moves by some tenths
        assert 100 * alone["matches"] / alone["steps"] == pytest.approx(position, abs=0.5)


@with_data
def test_the_traces_carry_the_same_labels_as_the_file_of_labels() -> None:
    traces, labels = read_recorded(DATA / "hotpotqa.jsonl"), read_recorded(DATA / "hotpotqa_labels.jsonl")
    assert traces.traces == labels.traces
    assert (traces.by_people, labels.by_people) == (True, True)
    assert not read_recorded(DATA / "judges" / "GPT-5.2" / "hotpotqa.jsonl").by_people


def row(labels: dict[str, Any], explanations: dict[str, str] | None = None, **fields: Any) -> str:
    explained = {} if explanations is None else {"explanations": {"steps": explanations}, "annotator": "a"}
    return json.dumps({"record_id": "d:0:0", "data_source": "d", "query_index": 0, "sample_index": 0} | {
        "dataset": "d", "step_labels": labels, **explained, **fields,
    })  # fmt: skip


def test_what_is_missing_and_what_nobody_gave_are_told_apart(tmp_path: Path) -> None:
    people, judge = tmp_path / "people.jsonl", tmp_path / "judge.jsonl"
    people.write_text(row({"2": 1, "4": 0, "6": -1, "8": 1, "10": 1}))
    judge.write_text(row({"2": 0, "4": 0, "6": None, "8": 1, "12": -1}, {"2": " ", "4": "nothing came of it"}))
    human, answers = read_recorded(people), read_recorded(judge)

    steps = paired(human, answers)
    assert [(each.place, each.position, each.judge, each.state) for each in steps] == [
        (2, 0, 0, "silent"),
        (4, 1, 0, "given"),
        (6, 2, None, "missing"),
        (8, 3, 1, "given"),
        (10, 4, None, "missing"),
    ]
    assert unlabelled(human, answers) == 1
    assert (answers.judge, answers.dataset, steps[0].task_id) == ("a", "d", "d:0")


def test_a_zero_padded_index_finds_its_explanation(tmp_path: Path) -> None:
    judge = tmp_path / "judge.jsonl"
    judge.write_text(row({"02": 0, "4": 0}, {"2": "nothing came of it", "004": "nor of this", "note": "of no step"}))
    answers = read_recorded(judge).traces[0].answers
    assert [(each.place, each.state, each.reason) for each in answers] == [
        (2, "given", "nothing came of it"),
        (4, "given", "nor of this"),
    ]


def test_a_file_of_two_annotators_is_refused(tmp_path: Path) -> None:
    judge = tmp_path / "judge.jsonl"
    others = {"record_id": "d:1:0", "annotator": "b"}
    judge.write_text(row({"2": 1}, {"2": "x"}) + "\n" + row({"2": 1}, {"2": "x"}, **others))
    with pytest.raises(BadRecordedAnswers, match=r"line 2: the answers are of 'b', and those of line 1 of 'a'"):
        read_recorded(judge)
    assert read_recorded(judge, judge="Both").judge == "Both", "who names them says that they belong together"
    judge.write_text(row({"2": 1}, {"2": "x"}) + "\n" + row({"2": 1}, record_id="d:1:0"))
    assert read_recorded(judge).judge == "a", "a row that names nobody contradicts nobody"


def test_a_file_by_the_name_of_its_data_set_is_of_the_judge_that_its_folder_names(tmp_path: Path) -> None:
    (tmp_path / "Some-Model").mkdir()
    file = tmp_path / "Some-Model" / "d.jsonl"
    file.write_bytes(gzip.compress(row({"2": 1}, {"2": "right"}).encode()))
    assert read_recorded(file).judge == "Some-Model"
    assert read_recorded(file, judge="Mine").judge == "Mine"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ("\n{", "line 2: no JSON"),
        ("[1]", "line 1: not a JSON object"),
        ('{"a": 1}', "no object `step_labels`"),
        ('{"step_labels": {}}', "neither `record_id`"),
        (row({"x": 1}), "'x' in `step_labels` is no message index"),
        (row({"2": 2}), "step 2: 2 is none of −1, 0, 1"),
        (row({"2": True}), "step 2: true is none of"),
        (row({"1": 1, "01": -1}), "'1' and '01' in `step_labels` are the same step: keep one"),
        (row({"2": 1}, {"2": "a", "02": "b"}), "'2' and '02' in `explanations.steps` are the same step: keep one"),
        (row({"2": 1}) + "\n" + row({"2": 1}), "lines 1 and 2 are both of 'd:0:0'"),
        ('{"a":' * 200, "line 1: no JSON"),
    ],
)
def test_a_file_that_holds_no_answers_is_refused_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(text)
    with pytest.raises(BadRecordedAnswers, match=r".") as refused:
        read_recorded(file)
    assert says in str(refused.value)
    assert str(file) in str(refused.value)


def test_answers_without_labels_of_the_same_traces_are_refused(tmp_path: Path) -> None:
    people, judge = tmp_path / "people.jsonl", tmp_path / "judge.jsonl"
    people.write_text(row({"2": 1}, record_id="other"))
    judge.write_text(row({"2": 1}, {"2": "x"}))
    program = [sys.executable, "-c", "from stepjudge.cli.main import main; main()", "audit", "import"]
    for files in ([judge, people], [judge], [people]):
        done = subprocess.run([*program, *map(str, files)], capture_output=True, text=True, check=False)
        assert done.returncode == 2, done.stdout
        assert "no labels share a trace" in done.stderr or "no file of a judge's answers" in done.stderr
