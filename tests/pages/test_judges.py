"""Judges: the numbers of the pages are those of the API, and what is missing says how to get it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from stepjudge.client import JudgeClient
from stepjudge.correction import SampledStep, corrected
from stepjudge.label import Label

from judged import judged
from pages.opened import Browsing, Opened

STEPS = 24


def questions(count: int) -> list[dict[str, object]]:
    """Traces of one step."""
    return [
        {"messages": [{"role": "user", "content": f"{number}?"}, {"role": "assistant", "content": f"{number}!"}]}
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    asked: list[int] = []

    def answers(_step: int, _unit: str, criterion: str) -> str:
        if criterion == "recovery":
            return "not_applicable"
        asked.append(1)
        return "no" if criterion == "useful" and len(asked) % 3 == 0 else "yes"

    with judged(tmp_path_factory.mktemp("judges"), answers=answers) as service:
        yield service.url


def detail(browser: Browsing, url: str, *, width: int = 1280, scheme: str = "light") -> Opened:
    opened = browser.open(url, "/audit/judges", width=width, scheme="dark" if scheme == "dark" else "light")
    opened.page.set_default_timeout(90_000)
    opened.page.locator("[data-judge='openai/scripted'] a").click()
    opened.page.wait_for_selector("[data-standing]")
    return opened


def labelled(client: JudgeClient) -> None:
    """Half of the steps, of which people see every fourth otherwise."""
    queue = client.queue(count=STEPS // 2)
    labels: list[Label] = []
    for number, each in enumerate(queue.steps):
        (verdict,) = client.verdicts_of(each.state_digest, each.step_digest).verdicts
        for answer in verdict.answers:
            if answer.criterion in ("valid", "relevant", "useful"):
                otherwise = answer.criterion == "useful" and number % 4 == 0
                said = {"yes": "no", "no": "yes"}.get(answer.answer, "undetermined") if otherwise else answer.answer
                fields = {name: getattr(each, name) for name in ("state_digest", "step_digest", "task_digest", "step")}
                labels.append(
                    Label.model_validate(
                        {
                            **fields,
                            "rubric": "step@1.0.0",
                            "rubric_digest": queue.rubric.digest,
                            "criterion": answer.criterion,
                            "call": answer.call,
                            "answer": said,
                            "annotator": "ann",
                            "blind": True,
                            "sampling": each.sampling,
                        }
                    )
                )
    client.label(labels)


# The tests of this module go on from each other: nothing judged, nothing labelled, then both
def test_without_verdicts_or_labels_the_pages_say_what_to_do_next(browser: Browsing, url: str) -> None:
    empty = browser.open(url, "/audit/judges")
    expect(empty.page.locator("[data-empty]")).to_contain_text("Score a trace first")
    assert (empty.faults(), empty.troubles()) == ([], [])
    with JudgeClient(url) as client:
        for each in questions(STEPS):
            client.score(each)
        client.score(questions(1)[0], judge="rules")
    opened = detail(browser, url)
    expect(opened.page.locator("[data-empty=agreement]")).to_contain_text("Label some steps")
    expect(opened.page.locator("[data-drift]")).to_contain_text("No question was asked twice")
    expect(opened.page.locator("[data-rate=bad]")).to_contain_text("label at least 2")
    assert (opened.faults(), opened.troubles()) == ([], [])
    opened.page.get_by_role("link", name="Label some steps").click()
    assert opened.page.locator("#judge").input_value() == "openai/scripted"


def test_the_figures_are_those_of_the_api(browser: Browsing, url: str) -> None:
    with JudgeClient(url) as client:
        labelled(client)
        client.score(questions(1)[0], fresh=True)
        report = next(each for each in client.agreement("step").reports if each.labelled.judge == "openai/scripted")
        every = client.verdicts(limit=200).verdicts
        queue = client.queue(count=STEPS)
    opened = detail(browser, url)
    page = opened.page
    rows = page.locator("[data-reading]")
    assert rows.count() == len(report.labelled.readings) > 3
    for each in report.labelled.readings:
        row = page.locator(f"[data-reading={each.reading}]")
        kappa, found = each.agreement.kappa.value, each.agreement
        assert row.get_attribute("data-equal") == f"{found.matches}/{found.labelled}"
        assert row.get_attribute("data-kappa") == ("" if kappa is None else str(kappa))
        expect(row).to_contain_text(each.trust.word)
        cells = [int(cell) for cell in page.locator(f"[data-confusion={each.reading}] tbody td").all_inner_texts()]
        assert cells == [count for line in found.confusion for count in line]
    expect(page.locator("[data-standing]")).to_have_text("provisional")
    expect(page.locator("[data-drift] tbody tr")).to_have_count(1)

    own = {(each.state_digest, each.step_digest): each for each in reversed(every) if each.judge == "openai/scripted"}
    people = {(each.state_digest, each.step_digest) for each in queue.steps[: STEPS // 2]}
    assert people < set(own)
    rate = page.locator("[data-rate=passes]")
    expect(rate).to_contain_text(f"{STEPS // 2} labels of {STEPS} steps, {STEPS} tasks")
    with JudgeClient(url) as client:
        said = {
            (each.state_digest, each.step_digest): each.answer
            for each in client.all_labels(rubric="step")
            if each.criterion == "useful"
        }
    sample = [
        SampledStep(
            state,
            state,
            float(verdict.answers["useful"] == ("yes",)),
            float(said[state, step] == "yes") if (state, step) in said else None,
            0.5 if (state, step) in said else None,
        )
        for (state, step), verdict in own.items()
    ]
    expect(rate.locator("b")).to_have_text(f"{corrected(sample).estimate:.2f}")
    assert opened.troubles() == []


def test_each_plot_is_drawn_and_has_its_numbers_in_a_table(browser: Browsing, url: str) -> None:
    opened = detail(browser, url)
    plots = opened.page.locator("[data-plot]")
    assert [each.get_attribute("data-plot") for each in plots.all()] == ["forest", "days"]
    for each in plots.all():
        blank = "canvas => !canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean)"
        assert not each.locator("canvas").evaluate(blank)
        each.locator("summary").click()
        assert each.locator("tbody tr").first.is_visible()
    opened.press("t")
    assert opened.troubles() == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_the_pages_fit_and_axe_finds_no_fault(browser: Browsing, url: str, width: int, scheme: str) -> None:
    opened = detail(browser, url, width=width, scheme=scheme)
    found = [(opened.faults(), opened.overflow())]
    opened.go("/audit/judges")
    found.append((opened.faults(), opened.overflow()))
    assert found == [([], 0)] * 2
    assert opened.troubles() == []


def test_a_judge_that_never_judged_is_not_found(browser: Browsing, url: str) -> None:
    opened = browser.open(url, "/audit/judges")
    opened.go("/audit/judges/sha256:a/<script>")
    expect(opened.page.locator("[data-refusal] h1")).to_have_text("Unknown judge")
