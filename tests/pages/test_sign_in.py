"""Keys decide who sees pages, and what forms may come from."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from pages.opened import Browsing
from pages.signed_in import key, sign_in
from serving import serving


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    keys = {"ann": key("secret-ann", "read", "label"), "bot": key("secret-bot", "judge")}
    with serving(tmp_path_factory.mktemp("locked"), api_keys=keys) as url:
        yield url


def test_a_page_asks_for_a_key_and_then_shows_what_was_wanted(browser: Browsing, locked: str) -> None:
    opened = browser.open(locked, "/audit/rubrics?a=1")
    expect(opened.page.locator("h1")).to_have_text("Sign in")
    sign_in(opened, "wrong")
    expect(opened.page.get_by_role("alert")).to_contain_text("No key of this service")
    sign_in(opened, "secret-ann")
    assert opened.page.url == f"{locked}/audit/rubrics?a=1"
    (cookie,) = opened.page.context.cookies()
    kept = [cookie.get(name) for name in ("name", "httpOnly", "sameSite", "secure")]
    assert kept == ["stepjudge", True, "Strict", False]
    assert "secret-ann" not in cookie.get("value", "")
    opened.page.click("form.out button")
    opened.go("/audit/rubrics")
    expect(opened.page.locator("h1")).to_have_text("Sign in")


def test_a_key_without_the_scope_is_told_so(browser: Browsing, locked: str) -> None:
    opened = browser.open(locked, "/audit/sign-in")
    sign_in(opened, "secret-bot")
    expect(opened.page.locator("[data-refusal]")).to_contain_text("the key 'bot' lacks the scope 'read'")
