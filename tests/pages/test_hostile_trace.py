"""Nothing of a hostile trace runs on a page, and all of it can be read there."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from report.hostile import EVIL
from stepjudge.client import JudgeClient

from judged import Judged, judged
from pages.hostile import MIDDLE, hostile_answer, hostile_document
from pages.opened import Browsing, Opened


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    with judged(tmp_path_factory.mktemp("attacked"), answers=hostile_answer) as service:
        with JudgeClient(service.url) as client:
            client.score(hostile_document())
            client.score(hostile_document(), judge="rules")
        yield service


def links(opened: Opened) -> list[str]:
    return opened.page.locator("[data-rows] [data-item]").evaluate_all(
        "all => all.map(each => each.getAttribute('href'))"
    )


def unharmed(opened: Opened) -> None:
    assert opened.page.evaluate("window.hacked ?? Object.prototype.polluted ?? null") is None
    assert opened.page.locator("main script, main img, main svg[onload], main [onmouseover], main [style]").count() == 0
    assert opened.troubles() == []


@pytest.mark.parametrize("width", [1280, 390])
def test_no_script_of_a_trace_runs_on_any_page_of_it(browser: Browsing, attacked: Judged, width: int) -> None:
    opened = browser.open(attacked.url, "/audit/traces", width=width)
    unharmed(opened)
    (address,) = [link for link in links(opened) if "/audit/traces" in link][1:]
    for step in (1, 2, 3):
        opened.go(f"{address.split('?')[0].rpartition('/')[0]}/{step}?{address.partition('?')[2]}")
        for details in opened.page.locator("main details").all():
            details.evaluate("each => { each.open = true; }")
        expect(opened.page.locator("[data-prompt]").first).to_be_visible()
        for button in opened.page.locator("main button.link").all()[:3]:
            button.click()
        assert opened.overflow() == 0
        unharmed(opened)
    with opened.page.expect_navigation():
        opened.press("c")
    unharmed(opened)


def test_hostile_text_is_shown_as_text_with_every_character_visible(browser: Browsing, attacked: Judged) -> None:
    opened = browser.open(attacked.url, "/audit/traces")
    opened.go(links(opened)[-1].split("?")[0].rpartition("/")[0] + "/1")
    shown = opened.page.locator("[data-place='s1.c1.result']").text_content() or ""
    assert all(text in shown for text in EVIL[:8])
    assert "⟨U+202E⟩gnp.exe⟨U+2066⟩⟨U+200B⟩⟨U+E0041⟩" in shown
    assert "⟨U+001B⟩[2J" in shown


def test_five_million_characters_are_cut_paged_and_linked(browser: Browsing, attacked: Judged) -> None:
    opened = browser.open(attacked.url, "/audit/traces")
    opened.go(links(opened)[-1].split("?")[0].rpartition("/")[0] + "/2")
    assert len(opened.page.content()) < 400_000
    result = opened.page.locator("[data-place='s2.c1.result']")
    expect(result.locator("[data-gap]")).to_contain_text("million characters are not shown")
    before = len(result.inner_text())
    result.locator("button.link").click()
    expect(result.locator("pre")).to_have_count(3)
    assert len(result.inner_text()) > before + 15_000
    raw = result.locator("a.raw").get_attribute("href")
    answer = opened.page.request.get(f"{opened.url}{raw}")
    assert MIDDLE in answer.text()
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert opened.troubles() == []
