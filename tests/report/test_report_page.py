from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import expect

from report.hostile import EVIL, HUGE, hostile_run
from report.made import MadeRun, card, made_run, scored, step_score
from report.opened import Browsing, Opened, browsing
from stepjudge.contract import StepScore
from stepjudge.report.page import About, report
from stepjudge.summary import summary
from stepjudge.task import Task
from stepjudge.trace import Call, Result, Step, Trace
from stepjudge.trial import Trial
from stepjudge.verdict import Answer, Evidence


# A module's own, and not the session's: while it lives, no other event loop can run in the thread
@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browsing]:
    with browsing(tmp_path_factory.mktemp("reports")) as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browsing) -> Iterator[Browsing]:
    yield chromium
    chromium.close()


def page_of(run: MadeRun) -> str:
    return report(run.tasks, run.trials, run.scores, run.summary, About("shop-desk", {"run": "run-1"}))


RUN = made_run()
HTML = page_of(RUN)
SECOND = RUN.scores[1].trial_id


def one_trial(*steps: Step, answers: tuple[Answer, ...] = (), task: str = "") -> MadeRun:
    """One judged trial, without checks."""
    trace = Trace(trace_id="t", task=task, steps=steps)
    trial = Trial(id="only.1", task_id="only", trace=trace)
    return MadeRun((Task(id="only"),), (trial,), (scored(trial, card(trace, [step_score(steps[0], answers)])),))


def untroubled(opened: Opened) -> bool:
    return (opened.complaints, opened.violations, len(opened.requests)) == ([], [], 1)


def test_a_report_asks_for_nothing_complains_of_nothing_and_breaks_no_rule_of_its_own(browser: Browsing) -> None:
    opened = browser.open(HTML)
    opened.trial(SECOND, 3)
    opened.page.keyboard.press("t")
    assert untroubled(opened)


def test_nothing_that_a_hostile_run_says_is_run(browser: Browsing) -> None:
    run = hostile_run()
    opened = browser.open(page_of(run))
    for score in run.scores:
        opened.trial(score.trial_id, 1)
        for details in opened.page.locator("#trial details").all():
            details.evaluate("each => { each.open = true; }")
        for button in opened.page.locator("#trial button.place, #trial button.more").all():
            button.click()
    assert opened.page.evaluate("window.hacked ?? Object.prototype.polluted ?? null") is None
    assert opened.page.locator("#trial script, #trial img, #overview img, #trial svg[onload]").count() == 0
    assert untroubled(opened)


def test_hostile_text_is_shown_as_text_with_every_character_visible(browser: Browsing) -> None:
    run = hostile_run()
    opened = browser.open(page_of(run))
    opened.trial(run.scores[0].trial_id)
    shown = opened.page.locator("[aria-label='s1.message']").text_content() or ""
    assert all(text in shown for text in EVIL[:8])
    assert "⟨U+202E⟩gnp.exe⟨U+2066⟩⟨U+200B⟩⟨U+E0041⟩" in shown
    assert "⟨U+001B⟩[2J" in shown
    assert "⟨U+D800⟩" in shown
    result = opened.page.locator("[aria-label='s1.c1.result']").text_content() or ""
    assert "characters are not in this report" in result
    assert len(page_of(run)) < 4 * len(HUGE)


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_width_makes_the_page_scroll_sideways(browser: Browsing, width: int) -> None:
    for run in (RUN, hostile_run()):
        opened = browser.open(page_of(run), width=width)
        overview = opened.overflow()
        opened.trial(run.scores[1].trial_id)
        assert (overview, opened.overflow()) == (0, 0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", ["", f"#trial/{SECOND}/2"])
def test_axe_finds_no_fault(browser: Browsing, scheme: str, address: str) -> None:
    opened = browser.open(HTML, scheme="dark" if scheme == "dark" else "light", address=address)
    package = find_spec("axe_playwright_python")
    assert package is not None
    assert package.origin is not None
    opened.page.evaluate((Path(package.origin).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = opened.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found["violations"]] == []


def test_j_and_k_go_from_step_to_step(browser: Browsing) -> None:
    opened = browser.open(HTML)
    opened.trial(SECOND)
    seen: list[str] = []
    for key in ("j", "j", "j", "k"):
        opened.page.keyboard.press(key)
        seen.append(opened.focused())
    assert seen == ["Step 1", "Step 2", "Step 3", "Step 2"]
    assert opened.page.url.endswith(f"#trial/{SECOND}/2")


def test_arrows_go_from_trial_to_trial(browser: Browsing) -> None:
    opened = browser.open(HTML, address=f"#trial/{SECOND}")
    urls: list[str] = []
    for key in ("ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft"):
        opened.page.keyboard.press(key)
        opened.page.wait_for_timeout(50)
        urls.append(opened.page.url.rpartition("/")[2])
    ids = [score.trial_id for score in RUN.scores]
    assert urls == [ids[2], ids[1], ids[0], ids[0]]


def test_keys_move_in_the_grid_and_open_a_trial(browser: Browsing) -> None:
    opened = browser.open(HTML)
    seen: list[str] = []
    for key in ("j", "j", "k", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"):
        opened.page.keyboard.press(key)
        seen.append(opened.focused().partition(":")[0])
    first, second = RUN.tasks[0].id, RUN.tasks[1].id
    assert seen == [
        f"{first}, pass 1", f"{first}, pass 2", f"{first}, pass 1", f"{second}, pass 1", f"{second}, pass 2",
        f"{first}, pass 2", f"{first}, pass 1",
    ]  # fmt: skip
    opened.page.keyboard.press("Enter")
    expect(opened.page.locator("#trial h1")).to_contain_text(first)
    opened.page.keyboard.press("Escape")
    expect(opened.page.locator("#overview")).to_be_visible()
    assert opened.focused().startswith(f"{first}, pass 1")


def test_help_opens_and_closes_by_key_and_by_button(browser: Browsing) -> None:
    opened = browser.open(HTML)
    opened.page.keyboard.press("?")
    expect(opened.page.locator("#help")).to_be_visible()
    opened.page.keyboard.press("Escape")
    expect(opened.page.locator("#help")).to_be_hidden()
    opened.page.click("#help-button")
    opened.page.click("#close-help")
    expect(opened.page.locator("#help")).to_be_hidden()


def test_search_finds_words_in_steps_and_tasks(browser: Browsing) -> None:
    step = Step(index=1, turn=1, llm_call=1, message="An Unusual Word stands here.")
    trial = Trial(id="rare.1", task_id="rare", trace=Trace(trace_id="r", steps=(step,)))
    run = MadeRun(RUN.tasks, (*RUN.trials, trial), (*RUN.scores, scored(trial, None)))
    opened = browser.open(page_of(run))
    opened.page.keyboard.press("/")
    opened.page.keyboard.type("unusual word")
    expect(opened.page.locator("#found")).to_have_text("1 trial")
    expect(opened.page.locator("#grid tbody tr:visible")).to_have_count(1)
    opened.page.fill("#search", "refund-881")
    expect(opened.page.locator("#found")).to_have_text("4 trials")
    opened.page.fill("#search", "nobody says this")
    expect(opened.page.locator("#nothing")).to_be_visible()
    opened.page.keyboard.press("Escape")
    expect(opened.page.locator("#grid tbody tr:visible")).to_have_count(len(RUN.tasks) + 1)


@pytest.mark.parametrize("flag", ["failing", "undetermined", "ungrounded", "recovered"])
def test_each_filter_shows_its_steps_and_no_others(browser: Browsing, flag: str) -> None:
    run = made_run(steps=24, seed=3)
    opened = browser.open(page_of(run))
    opened.page.click(f"#overview [data-flag={flag}]")
    expect(opened.page.locator("#found")).not_to_be_empty()
    kept = opened.page.locator(".cell:not(.off)")
    flagged = [score for score in run.scores if score.scorecard and any(_has(step, flag) for step in score.scorecard.steps)]  # fmt: skip
    assert kept.count() == len(flagged) > 0
    opened.trial(flagged[0].trial_id)
    shown = opened.page.locator("#trial .step:visible").evaluate_all(
        "all => all.map(each => Number(each.dataset.step))"
    )
    assert flagged[0].scorecard is not None
    assert shown == [step.index for step in flagged[0].scorecard.steps if _has(step, flag)]
    opened.page.click("#trial [data-flag='']")
    expect(opened.page.locator("#trial .step:visible")).to_have_count(len(flagged[0].scorecard.steps))


def _has(step: StepScore, flag: str) -> bool:
    return {
        "failing": step.passes is False,
        "undetermined": any(answer.answer == "undetermined" for answer in step.details),
        "ungrounded": any(answer.ungrounded for answer in step.details),
        "recovered": any(answer.criterion == "recovery" and answer.answer == "yes" for answer in step.details),
    }[flag]


def test_f_goes_through_the_filters(browser: Browsing) -> None:
    opened = browser.open(HTML)
    pressed: list[str] = []
    for _ in range(5):
        opened.page.keyboard.press("f")
        pressed.append(opened.page.locator("#overview [aria-pressed=true]").get_attribute("data-flag") or "all")
    assert pressed == ["failing", "undetermined", "ungrounded", "recovered", "all"]


def test_evidence_is_marked_where_it_stands(browser: Browsing) -> None:
    call = Call(
        name="bash", arguments={"command": "cat a b"}, result=Result(text="one\ntwo  (three)\nfour", state="present")
    )
    answers = (
        Answer(criterion="valid", call=1, answer="yes", evidence=(Evidence(place="s1.c1.result", quote="two (three) four"),)),
        Answer(criterion="useful", call=1, answer="yes", evidence=(Evidence(place="s1.c1.result", quote="(three)"), Evidence(place="s1.c1.arguments", quote='{"command":"cat'))),
        Answer(criterion="relevant", call=1, answer="no", ungrounded=True, evidence=(Evidence(place="task", quote="not said"),)),
        Answer(criterion="recovery", answer="no", evidence=(Evidence(place="task", quote="the sum"),)),
    )  # fmt: skip
    step = Step(index=1, turn=1, llm_call=1, calls=(call,))
    opened = browser.open(
        page_of(one_trial(step, answers=answers, task="Tell the sum of it.")), address="#trial/only.1"
    )
    marks = opened.page.locator("[aria-label='s1.c1.result'] mark")
    assert marks.all_inner_texts() == ["two  ", "(three)", "\nfour"]
    assert marks.nth(1).get_attribute("title") == "quoted for step 1: valid, step 1: useful"
    assert opened.page.locator("pre[aria-label='s1.c1.arguments'] mark").all_inner_texts() == ['{"command":"cat']
    opened.page.click("button.place:text('task')")
    expect(opened.page.locator("[aria-label=task] mark.shown")).to_have_text("the sum")
    expect(opened.page.locator("[aria-label=task] mark.shown")).to_be_in_viewport()
    assert opened.page.locator(".evidence:has-text('not said')").inner_text().startswith("task does not stand there")


def test_a_link_leads_to_one_step_of_one_trial(browser: Browsing) -> None:
    opened = browser.open(HTML, address=f"#trial/{SECOND}/9")
    expect(opened.page.locator(".step.current")).to_have_attribute("data-step", "9")
    expect(opened.page.locator(".step.current h3")).to_be_in_viewport()


def test_an_address_that_leads_nowhere_shows_the_overview(browser: Browsing) -> None:
    for address in ("#trial/nobody", "#trial/%E0%A4%A", "#x"):
        opened = browser.open(HTML, address=address)
        expect(opened.page.locator("#overview")).to_be_visible()
        assert untroubled(opened)


def test_the_theme_follows_the_system_until_somebody_chooses(browser: Browsing) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = browser.open(HTML), browser.open(HTML, scheme="dark")
    both = light.page.evaluate(background), dark.page.evaluate(background)
    assert both[0] != both[1]
    light.page.keyboard.press("t")
    assert light.page.evaluate(background) == both[1]
    light.page.reload()
    assert light.page.evaluate(background) == both[1]
    light.page.click("#theme")
    assert light.page.evaluate(background) == both[0]


def test_print_is_light_whole_and_without_controls(browser: Browsing) -> None:
    step = Step(index=1, turn=1, llm_call=1, message="\n".join(f"line {number}" for number in range(200)))
    opened = browser.open(page_of(one_trial(step)), scheme="dark", address="#trial/only.1")
    opened.page.emulate_media(media="print", color_scheme="dark")
    expect(opened.page.locator("header.bar")).to_be_hidden()
    expect(opened.page.locator(".more")).to_be_hidden()
    box = opened.page.locator("[aria-label='s1.message']").bounding_box()
    assert box is not None
    assert box["height"] > 2_000
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(opened.page.pdf()) > 5_000


def test_every_chart_is_drawn_and_has_its_numbers_as_text(browser: Browsing) -> None:
    opened = browser.open(HTML)
    charts = opened.page.locator("[data-chart]")
    assert charts.evaluate_all("all => all.map(each => each.dataset.chart)") == ["rates", "steps", "effort"]
    blank = (
        "all => all.map(each => each.getContext('2d').getImageData(0, 0, each.width, each.height).data.every(v => !v))"
    )
    assert opened.page.locator("[data-chart] canvas").evaluate_all(blank) == [False, False, False]
    steps = RUN.summary.step_level
    row = charts.first.locator("tr:has-text('Step-level score')")
    assert f"{steps.numerator} of {steps.denominator}" in (row.text_content() or "")


def test_headline_metrics_stand_in_pairs(browser: Browsing) -> None:
    opened = browser.open(HTML)
    pairs = [card.locator(".label").all_inner_texts() for card in opened.page.locator(".cards .card").all()]
    assert pairs == [
        ["Success rate", "Consistency"],
        ["Tool-call precision", "Argument accuracy"],
        ["Steps per success", "Cost per success"],
    ]


def test_provisional_is_said_while_it_is_true(browser: Browsing) -> None:
    validated = [
        score.model_copy(update={"scorecard": score.scorecard.model_copy(update={"provisional": False})})
        for score in RUN.scores
        if score.scorecard
    ]
    for scores, said in ((RUN.scores, True), (validated, False)):
        opened = browser.open(report(RUN.tasks, RUN.trials, scores, summary(scores)))
        assert ("rovisional" in opened.page.locator("body").inner_text()) is said
        opened.trial(SECOND)
        assert ("rovisional" in opened.page.locator("body").inner_text()) is said


def test_a_report_of_nothing_says_so(browser: Browsing) -> None:
    opened = browser.open(report((), (), (), summary(())))
    shown = opened.page.locator("main").inner_text()
    assert "This run has no trials yet." in shown
    assert "This suite defines no views." in shown
    opened.page.keyboard.press("j")
    opened.page.keyboard.press("f")
    assert untroubled(opened)


def test_a_trial_without_checks_judge_or_trace_says_so(browser: Browsing) -> None:
    trial = Trial(id="bare.1", task_id="bare")
    run = MadeRun((Task(id="bare"),), (trial,), (scored(trial, None),))
    opened = browser.open(page_of(run), address="#trial/bare.1")
    shown = opened.page.locator("#trial").inner_text()
    for words in ("No checks were run.", "The judge gave no answer: the provider did not answer", "No trace was kept", "No final output."):  # fmt: skip
        assert words in shown
    assert untroubled(opened)


def test_checks_show_their_evidence_and_a_failed_harness_its_error(browser: Browsing) -> None:
    failing = next(score for score in RUN.scores if any(check.outcome == "fail" for check in score.checks))
    opened = browser.open(HTML)
    opened.trial(failing.trial_id)
    checks = opened.page.locator(".checks .fail")
    expect(checks).to_contain_text("1 of 41 tests failed")
    expect(checks.locator("pre")).to_be_visible()
    broken = next(score for score in RUN.scores if score.status == "failed")
    opened.trial(broken.trial_id)
    expect(opened.page.locator("#trial")).to_contain_text("the container stopped before the first step")
