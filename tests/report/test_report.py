import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from pydantic import JsonValue

from report.hostile import hostile_run
from report.made import VIEWS, made_run
from stepjudge.bundle import BadBundle, write_bundle
from stepjudge.report import report, write_report
from stepjudge.report.grid import grid
from stepjudge.report.island import HEAD, TAIL, cut, island
from stepjudge.report.mark import Mark, marks
from stepjudge.report.page import About
from stepjudge.report.strip import strip
from stepjudge.summary import summary
from stepjudge.task import Task
from stepjudge.trace import Trace
from stepjudge.trial import Trial, TrialScore
from stepjudge.visible import visible

from traces import texts, traces

RUN = made_run(4, 3, 8)
_SCRIPT = re.compile(r"<script(?: type=\"(?P<type>[^\"]+)\" id=\"(?P<id>[^\"]+)\")?>(?P<text>.*?)</script>", re.DOTALL)


def _islands(page: str) -> dict[str, JsonValue]:
    return {each["id"]: json.loads(each["text"]) for each in _SCRIPT.finditer(page) if each["type"]}


@given(texts)
def test_an_island_holds_the_visible_text_and_no_markup(text: str) -> None:
    written = island({text: [text]})
    assert not set(written) & set("<>&")
    assert json.loads(written) == {visible(text): [visible(text)]}
    written.encode()


@given(traces())
def test_any_trace_makes_a_page_whose_islands_can_be_read(trace: Trace) -> None:
    trial = Trial(id="a", task_id="t", trace=trace)
    score = TrialScore(trial_id="a", task_id="t", trial=1, status="completed")
    page = report((Task(id="t"),), (trial,), (score,), summary([score]))
    told = _islands(page)["story-0"]
    assert isinstance(told, dict)
    steps = told["steps"]
    assert isinstance(steps, list)
    assert [step["n"] for step in steps if isinstance(step, dict)] == [step.index for step in trace.steps]
    page.encode()


def test_the_policy_names_each_script_and_style_of_the_page_and_no_other() -> None:
    page = report(RUN.tasks, RUN.trials, RUN.scores, RUN.summary)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    code = [each["text"] for each in _SCRIPT.finditer(page) if not each["type"]]
    named = set(re.findall(r"&#39;sha256-([^&]+)&#39;", policy[1]))
    assert named == {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (*styles, *code)}
    assert "unsafe" not in policy[1]
    assert policy[1].startswith("default-src &#39;none&#39;; img-src data:;")


def test_the_page_speaks_of_no_other_address() -> None:
    page = report(RUN.tasks, RUN.trials, RUN.scores, RUN.summary)
    assert re.findall(r"(?:src|href|action|poster|data)=\"(?!#|data:,)[^\"]*\"", page) == []
    assert "sourceMappingURL" not in page
    assert "@import" not in page


def test_the_library_is_shipped_with_its_licence() -> None:
    import stepjudge.report.page

    vendor = Path(stepjudge.report.page.__file__).parent / "vendor"
    assert "The MIT License" in (vendor / "chart.LICENSE.md").read_text()
    assert "Chart.js v4.6.1" in (vendor / "chart.umd.min.js").read_text()[:200]


def test_a_long_text_keeps_its_head_and_its_tail() -> None:
    text = "a" * HEAD + "b" * 1234 + "c" * TAIL
    assert cut(text) == "a" * HEAD + "\n⟨1,234 characters are not in this report⟩\n" + "c" * TAIL
    assert cut("a" * (HEAD + TAIL)) == "a" * (HEAD + TAIL)


def test_trials_share_what_stood_before_their_first_step() -> None:
    told = _islands(report(RUN.tasks, RUN.trials, RUN.scores, RUN.summary))
    traced = {trial.task_id for trial in RUN.trials if trial.trace}
    assert sum(name.startswith("opening-") for name in told) == len(traced)


def test_steps_that_a_scorecard_makes_up_cost_nothing() -> None:
    score = hostile_run().scores[0]
    assert score.scorecard is not None
    assert score.scorecard.total_steps == 10**12
    assert len(marks(None, score.scorecard)) == 1


def test_a_strip_says_by_shape_what_each_step_came_to() -> None:
    drawn = strip([Mark(1, "pass"), Mark(2, "bad", ("failing",)), Mark(3, "pass", ("recovered",))])
    assert (drawn.width, drawn.paths) == (
        15,
        {"pass": "M0 0h4v8h-4zM10 0h4v8h-4z", "bad": "M5 8h4v8h-4z", "recovered": "M10 14l2 -3l2 3z"},
    )


def test_the_report_stands_beside_the_bundle_and_says_how_it_was_made(tmp_path: Path) -> None:
    write_bundle(
        tmp_path,
        run_id="run-17",
        metadata={
            "target": {"name": "imported", "kind": "imported", "version": None},
            "stepjudge": {"suite": {"name": "shop <desk>", "version": "2"}, "seed": 7, "judge": {"model": "a/b"}},
        },
        tasks=[task.model_copy(update={"views": VIEWS}) for task in RUN.tasks],
        scored=list(zip(RUN.trials, RUN.scores, strict=True)),
        summed_up=RUN.summary,
        judged=True,
    )
    before = {path.name for path in tmp_path.iterdir()}
    path = write_report(tmp_path)
    assert path == tmp_path / "report.html"
    assert {path.name for path in tmp_path.iterdir()} == before | {"report.html"}
    page = path.read_text(encoding="utf-8")
    assert '<h1 id="title">shop &lt;desk&gt;</h1>' in page
    assert "<dt>run</dt><dd>run-17</dd>" in page
    assert "<dt>judge</dt><dd>model a/b</dd>" in page
    assert page.count('class="cell ') == len(RUN.scores)


def test_a_report_that_cannot_be_made_leaves_what_stood_there(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("earlier")
    with pytest.raises(BadBundle):
        write_report(tmp_path)
    assert (tmp_path / "report.html").read_text() == "earlier"
    assert len(list(tmp_path.iterdir())) == 1


def test_what_the_run_says_of_itself_is_text() -> None:
    page = report((), (), (), summary(()), About("<b>", {"<i>": "</dd><script>"}))
    assert "<b>" not in page
    assert "&lt;/dd&gt;&lt;script&gt;" in page


def test_a_cell_says_in_words_what_it_shows() -> None:
    score = next(score for score in RUN.scores if score.checks and score.checks[0].outcome == "fail")
    assert score.scorecard is not None
    rate = score.scorecard.scores.step_level
    rows = grid(RUN.tasks, [score], [marks(None, score.scorecard)]).rows
    (cell,) = next(row for row in rows if row.task_id == score.task_id).cells[0]
    assert cell.words.startswith(
        f"{score.task_id}, pass {score.trial}: did not succeed, check tests: fail, "
        f"{rate.numerator} of {rate.denominator} steps pass, first failing step "
    )
    assert [row.tally for row in rows] == ["0/1" if row.task_id == score.task_id else "0/0" for row in rows]
