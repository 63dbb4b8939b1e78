"""Live: verdicts appear while a run is being scored, whichever replica judges them."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest
from playwright.sync_api import expect

from stepjudge.client import JudgeClient

from judged import documents, judged
from pages.opened import Browsing, Opened
from pages.signed_in import key
from serving import serving


@contextmanager
def watching(browser: Browsing, url: str, *, width: int = 1280, scheme: str = "light") -> Generator[Opened]:
    """The page, which is closed in the end: a service that stops waits for who listens."""
    opened = browser.open(url, "/audit/live", width=width, scheme="dark" if scheme == "dark" else "light")
    opened.page.set_default_timeout(60_000)
    try:
        yield opened
    finally:
        opened.page.close()


def test_verdicts_progress_and_spend_appear_while_a_run_is_scored(browser: Browsing, tmp_path: Path) -> None:
    trace = documents()["pytest-5262"]
    with (
        judged(tmp_path, latency=2.5, concurrency=2) as service,
        JudgeClient(service.url) as client,
        watching(browser, service.url) as opened,
    ):
        page = opened.page
        expect(page.locator("#none-yet")).to_be_visible()
        expect(page.locator("#state")).to_have_text("watching", timeout=60_000)
        scoring = threading.Thread(target=client.score, args=(trace,))
        scoring.start()
        try:
            page.wait_for_selector("[data-scoring]")
            expect(page.locator("[data-scoring]")).to_contain_text("of 8 steps")
            page.wait_for_selector("tr[data-verdict]")
            assert page.locator("tr[data-verdict]").count() < 8, "the run goes on"
            expect(page.locator("#under-way-count")).to_have_text("1 scoring")
        finally:
            scoring.join()
        expect(page.locator("tr[data-verdict]")).to_have_count(8, timeout=60_000)
        expect(page.locator("#count")).to_have_text("8")
        expect(page.locator("[data-scoring]")).to_contain_text("8 of 8 steps", timeout=60_000)
        shown = {each.get_attribute("data-verdict") for each in page.locator("tr[data-verdict]").all()}
        assert shown == {each.verdict_id for each in client.verdicts(limit=50).verdicts}
        assert (opened.faults(), opened.troubles(), opened.overflow()) == ([], [], 0)


def test_a_pause_holds_verdicts_back_and_going_on_shows_them(browser: Browsing, tmp_path: Path) -> None:
    with (
        judged(tmp_path) as service,
        JudgeClient(service.url) as client,
        watching(browser, service.url, width=390, scheme="dark") as opened,
    ):
        page = opened.page
        expect(page.locator("#state")).to_have_text("watching", timeout=60_000)
        opened.press("p")
        client.score(documents()["small"])
        expect(page.locator("#count")).to_have_text("3", timeout=60_000)
        assert page.locator("tr[data-verdict]").count() == 0
        opened.press("p")
        expect(page.locator("tr[data-verdict]")).to_have_count(3)
        assert (opened.faults(), opened.troubles(), opened.overflow()) == ([], [], 0)


def heard(url: str, *, last: int | None = None, until: str = "event: progress") -> str:
    """What the stream says first, up to a line that begins so."""
    headers = {} if last is None else {"last-event-id": str(last)}
    text = ""
    with httpx.stream("GET", f"{url}/audit/live/events?after=0", headers=headers, timeout=60) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        for line in response.iter_lines():
            text += f"{line}\n"
            if line.startswith(until):
                return text
    return text


def test_who_comes_back_hears_what_landed_meanwhile_also_from_another_replica(tmp_path: Path) -> None:
    with serving(tmp_path) as one, serving(tmp_path) as two, JudgeClient(one) as client:
        client.score(documents()["small"])
        every = heard(two)
        assert [line for line in every.splitlines() if line.startswith("id:")] == ["id: 1", "id: 2", "id: 3"]
        later = heard(two, last=2)
        assert [line for line in later.splitlines() if line.startswith("id:")] == ["id: 3"]


def test_the_stream_is_for_keys_that_may_read(tmp_path: Path) -> None:
    with serving(tmp_path, api_keys={"bot": key("secret", "judge")}) as url:
        refused = httpx.get(f"{url}/audit/live/events", timeout=60)
    assert refused.status_code in (303, 401)
    assert "text/event-stream" not in refused.headers.get("content-type", "")


@pytest.mark.parametrize("ids", ["x", "99999999999999999999999", "-1"])
def test_a_number_that_is_none_is_passed_over(tmp_path: Path, ids: str) -> None:
    with serving(tmp_path) as url:
        headers = {"last-event-id": ids}
        with httpx.stream("GET", f"{url}/audit/live/events", headers=headers, timeout=60) as response:
            assert response.status_code == 200
