"""The page of one trace: what it shows of a step, side by side, and every key."""

import pytest
from playwright.sync_api import expect

from stepjudge.client import JudgeClient

from courts import model
from fakes.provider import Provider
from judged import Judged, documents, script
from pages.opened import Browsing, Opened
from scripted import Scripted
from serving import serving

MODEL = "openai/scripted"


def first_link(opened: Opened, judge: str, *, last: bool = False) -> str:
    links = opened.page.locator(f"[data-judge='{judge}']")
    return (links.last if last else links.first).get_attribute("href") or ""


@pytest.fixture
def opened(browser: Browsing, room: Judged) -> Opened:
    """The first step of the trace of three steps, as the scripted model judged it."""
    opened = browser.open(room.url, "/audit/traces")
    opened.go(first_link(opened, MODEL).replace("/2?", "/1?"))
    return opened


def test_a_step_shows_its_state_its_calls_and_what_the_judge_said(opened: Opened) -> None:
    page = opened.page
    expect(page.locator("h1")).to_have_text("What is the weather in Lima?")
    expect(page.locator(".call-name")).to_have_text("weather")
    expect(page.locator(".arguments")).to_contain_text("Lima")
    expect(page.locator("[data-place='s1.c1.result'] .passage")).to_have_text("18 degrees, mist")
    said = page.locator("section.answers li[data-criterion]")
    assert said.evaluate_all("all => all.map(each => each.dataset.criterion)") == ["valid", "arguments", "relevant", "useful", "recovery"]  # fmt: skip
    expect(said.first).to_contain_text("scripted for step 1")
    expect(page.locator("mark").first).to_have_text("weather")
    expect(page.locator("section.answers .spent")).to_contain_text("attempts")
    opened.press("s")
    expect(page.locator("details.state [data-place=task]")).to_be_visible()
    assert opened.troubles() == []


def test_the_audit_shows_the_prompt_the_raw_reply_and_that_they_match(opened: Opened) -> None:
    opened.page.click("details.audit > summary")
    part = opened.page.locator(".audit-part")
    expect(part.locator("[data-prompt=matches]")).to_be_visible()
    expect(part.locator("[data-state=matches]")).to_be_visible()
    expect(part).to_contain_text("Judge step 1,")
    expect(part).to_contain_text("scripted for step 1")
    raw = part.locator("a.raw").first.get_attribute("href")
    answer = opened.page.request.get(f"{opened.url}{raw}")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "Judge step 1," in answer.text()
    assert opened.troubles() == []


def test_j_k_n_and_c_walk_through_the_trace(opened: Opened) -> None:
    seen: list[str] = []
    for key in ("j", "j", "k", "k", "n"):
        with opened.page.expect_navigation():
            opened.press(key)
        seen.append(opened.page.locator("#step-title").inner_text())
    assert seen == ["Step 2", "Step 3", "Step 2", "Step 1", "Step 2"]
    opened.press("c")
    expect(opened.page.locator("[data-side]")).to_have_count(2)
    opened.press("c")
    expect(opened.page.locator("[data-side]")).to_have_count(0)


def test_an_address_leads_to_a_step_and_a_verdict_to_its_step(browser: Browsing, opened: Opened) -> None:
    address = opened.page.url.removeprefix(opened.url)
    again = browser.open(opened.url, address)
    expect(again.page.locator(".step-link[aria-current=step]")).to_have_attribute("data-step", "1")
    verdict = again.page.locator("[data-audit]").get_attribute("data-audit")
    again.go(f"/audit/verdicts/{verdict}")
    expect(again.page.locator("#step-title")).to_have_text("Step 1")
    assert again.page.locator("[data-audit]").get_attribute("data-audit") == verdict


def test_earlier_steps_are_read_when_they_are_opened(opened: Opened) -> None:
    with opened.page.expect_navigation():
        opened.press("j")
    opened.press("s")
    earlier = opened.page.locator(".earlier details")
    expect(earlier).to_have_count(1)
    earlier.locator("summary").click()
    expect(earlier).to_contain_text("18 degrees, mist")


def test_what_judges_say_differently_is_marked(opened: Opened) -> None:
    with opened.page.expect_navigation():
        opened.press("j")
    expect(opened.page.locator(".matrix thead th")).to_have_count(3)
    expect(opened.page.locator("[aria-label='Judges of this step'] [data-by]")).to_have_count(2)


def test_a_jury_shows_what_each_member_said(browser: Browsing, tmp_path_factory: pytest.TempPathFactory) -> None:
    def other(_step: int, _unit: str, name: str) -> str:
        return {"recovery": "not_applicable", "useful": "no"}.get(name, "yes")

    scripts = {"one": Scripted(script), "two": Scripted(script), "three": Scripted(other)}
    courts = {"jury": {"kind": "jury", "members": list(scripts)}}
    with Provider(lambda request: scripts[request.model](request)) as provider:
        judges = {name: model(provider, name) for name in scripts}
        with serving(tmp_path_factory.mktemp("jury"), judges={**judges, **courts}) as url:
            with JudgeClient(url) as client:
                client.score(documents()["small"], judge="jury")
            opened = browser.open(url, "/audit/traces?disagreement=true")
            opened.go(first_link(opened, "jury").partition("?")[0].rpartition("/")[0] + "/1")
            expect(opened.page.locator(".votes tbody tr")).to_have_count(3)
            expect(opened.page.locator("li[data-criterion=useful]").first).to_contain_text("said by one, two")
            expect(opened.page.locator("tr[data-differ]").filter(has_text="useful")).to_have_count(1)


@pytest.mark.parametrize("path", ["/audit/traces/sha256:00/1", "/audit/verdicts/none", "/audit/nowhere", "/audit/rubrics/none@1.0.0"])  # fmt: skip
def test_what_is_not_there_is_said_on_a_page(browser: Browsing, room: Judged, path: str) -> None:
    opened = browser.open(room.url, path)
    expect(opened.page.locator("[data-refusal] h1")).to_be_visible()
    assert opened.faults() == []
