"""A report opened in a real Chromium, from a file, with everything noted that should not happen there."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

from stepjudge.visible import visible

_WATCH = """
addEventListener("securitypolicyviolation", (event) => {
  (window.violations ??= []).push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""


@dataclass
class Opened:
    """A page, and what it did."""

    page: Page
    requests: list[str] = field(default_factory=list[str])
    complaints: list[str] = field(default_factory=list[str])
    """Of the console, and errors that nobody caught."""

    @property
    def violations(self) -> list[str]:
        """What the page's policy refused."""
        return self.page.evaluate("window.violations ?? []")

    def trial(self, name: str, step: int | None = None) -> None:
        """Go to a trial, and to one of its steps."""
        self.page.evaluate(
            "([id, step]) => { location.hash = `#trial/${encodeURIComponent(id)}${step ? `/${step}` : ''}`; }",
            [visible(name), step],
        )
        self.page.wait_for_selector("#trial:not([hidden]) h1")

    def focused(self) -> str:
        """What has the focus, by its label."""
        return self.page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.id")

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - innerWidth")


class Browsing:
    """Opens reports. One browser for many, because it takes a second to start."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self._browser = browser
        self._folder = folder
        self._count = 0

    def open(
        self, html: str, *, width: int = 1280, scheme: Literal["light", "dark"] = "light", address: str = ""
    ) -> Opened:
        """The report in a window of its own."""
        self._count += 1
        path = self._folder / f"report-{self._count}.html"
        path.write_bytes(html.encode("utf-8", "replace"))
        context = self._browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        context.add_init_script(_WATCH)
        opened = Opened(context.new_page())
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.on("console", lambda message: opened.complaints.append(message.text))
        opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        opened.page.on("dialog", lambda dialog: opened.complaints.append(dialog.message))
        opened.page.goto(f"{path.as_uri()}{address}")
        return opened

    def close(self) -> None:
        """Every window."""
        for context in self._browser.contexts:
            context.close()


@contextmanager
def browsing(folder: Path) -> Generator[Browsing]:
    """A Chromium that asks nobody for anything."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"],
        )
        yield Browsing(browser, folder)
        browser.close()
