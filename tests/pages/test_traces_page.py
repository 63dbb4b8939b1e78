"""The list of traces: every filter, the search, and every key."""

from collections.abc import Iterator

import httpx2 as httpx
import pytest
from playwright.sync_api import expect

from stepjudge.client import JudgeClient

from judged import Judged, documents, judged, samples
from pages.opened import Browsing, Opened
from serving import serving


@pytest.fixture
def opened(browser: Browsing, room: Judged) -> Opened:
    return browser.open(room.url, "/audit/traces")


def shown(opened: Opened) -> list[str]:
    """(task, judge) of each line, in order."""
    return opened.page.locator("[data-rows] [data-item]").evaluate_all(
        "all => all.map(each => `${each.querySelector('.row-task').firstChild.textContent.trim().slice(0, 8)} ${each.dataset.judge}`)"
    )


MODEL, RULES = "openai/scripted", "rules"


def test_each_trace_stands_once_for_each_judge_newest_first(opened: Opened) -> None:
    assert shown(opened) == [
        f"{task} {judge}" for task in ("What is ", "Who desi", "Implemen") for judge in (RULES, MODEL)
    ]
    assert opened.troubles() == []


def test_scoring_the_same_again_adds_no_line(opened: Opened, room: Judged) -> None:
    with JudgeClient(room.url) as client:
        client.score(documents()["pytest-5262"])
        client.score(documents()["small"])
    opened.page.reload()
    assert len(shown(opened)) == 6


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("judge=rules", 3),
        ("undetermined=true", 4),
        ("answer=useful%3Dno", 4),
        ("answer=valid%3Dno", 2),
        ("disagreement=true", 6),
        ("ungrounded=true", 0),
        ("low=true", 0),
        ("addresses=true", 0),
        ("since=2020-01-01&until=2020-01-02", 0),
        ("since=2020-01-01", 6),
        ("cost=0.0001", 0),
        ("seconds=100", 0),
        ("q=mist", 2),
        ("q=degrees+Lima", 2),
        ("q=degrees+nobodysaysthis", 0),
        ('q=%22%29+nobodysaysthis+%28*', 0),
        ("rubric=none", 0),
    ],
)  # fmt: skip
def test_each_filter_keeps_what_fits(room: Judged, query: str, lines: int) -> None:
    answer = httpx.get(f"{room.url}/audit/traces?{query}")
    assert (answer.status_code, answer.text.count("data-item")) == (200, lines)
    assert ("data-empty" in answer.text) is (lines == 0)


def test_the_form_keeps_what_was_chosen_and_leads_to_a_deep_link(opened: Opened) -> None:
    opened.page.select_option("[data-filters] select[name=judge]", RULES)
    opened.page.check("input[name=undetermined]")
    opened.page.click("[data-filters] button[type=submit]")
    assert "judge=rules" in opened.page.url
    assert "undetermined=true" in opened.page.url
    assert opened.page.input_value("select[name=judge]") == RULES
    expect(opened.page.locator("input[name=undetermined]")).to_be_checked()
    opened.press("x")
    expect(opened.page.locator("[data-rows] [data-item]")).to_have_count(6)


def test_keys_search_choose_and_open(opened: Opened) -> None:
    opened.press("/")
    opened.page.keyboard.type("Cusco")
    opened.press("Enter")
    expect(opened.page.locator("[data-rows] [data-item]")).to_have_count(2)
    opened.press("j", "j", "k", "Enter")
    expect(opened.page.locator("#step-title")).to_have_text("Step 2")
    opened.press("u")
    expect(opened.page.locator("h1")).to_have_text("Traces")
    opened.press("?")
    expect(opened.page.locator("#help")).to_be_visible()
    opened.press("Escape")
    expect(opened.page.locator("#help")).to_be_hidden()


def test_t_switches_light_and_dark_and_it_is_remembered(opened: Opened) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light = opened.page.evaluate(background)
    opened.press("t")
    dark = opened.page.evaluate(background)
    opened.page.reload()
    assert light != dark == opened.page.evaluate(background)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service that has scored 121 traces."""
    with serving(tmp_path_factory.mktemp("many")) as url, JudgeClient(url) as client:
        for document in samples(242)[::2]:
            client.score(document)
        yield url


def test_older_traces_are_a_page_further(browser: Browsing, many: str) -> None:
    opened = browser.open(many, "/audit/traces")
    seen: list[str] = []
    for count in (50, 50, 21):
        lines = opened.page.locator(".row-task").all_inner_texts()
        assert len(lines) == count
        seen += lines
        if count == 50:
            with opened.page.expect_navigation():
                opened.press("ArrowRight")
    assert len(set(seen)) == 121


def test_a_ledger_without_traces_says_so(browser: Browsing, tmp_path_factory: pytest.TempPathFactory) -> None:
    with serving(tmp_path_factory.mktemp("none")) as url:
        opened = browser.open(url, "/audit/traces")
        expect(opened.page.locator("[data-empty]")).to_contain_text("No trace has been scored yet")
        assert opened.troubles() == []


def test_a_trace_that_goes_on_takes_the_place_of_its_beginning(
    browser: Browsing, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = {**documents()["small"], "id": "one"}
    beginning = {**whole, "messages": whole["messages"][:3]}
    with judged(tmp_path_factory.mktemp("grows")) as service, JudgeClient(service.url) as client:
        client.score(beginning, judge="rules")
        client.score(whole, judge="rules")
        opened = browser.open(service.url, "/audit/traces")
        expected = (
            1 if client.score(whole, judge="rules").trace_id == client.score(beginning, judge="rules").trace_id else 2
        )
        expect(opened.page.locator("[data-rows] [data-item]")).to_have_count(expected)
