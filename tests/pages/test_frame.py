from playwright.sync_api import expect

from judged import Judged
from pages.opened import Browsing


def test_the_room_opens_at_the_traces(browser: Browsing, room: Judged) -> None:
    opened = browser.open(room.url, "/")
    assert opened.page.url == f"{room.url}/audit/traces"
    expect(opened.page.locator("h1")).to_have_text("Traces")
    assert opened.troubles() == []
