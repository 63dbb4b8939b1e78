"""A page of the audit room opened in a real Chromium, with everything noted that should not happen there."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, BrowserContext, Dialog, Page, sync_playwright

_WATCH = """
addEventListener("securitypolicyviolation", (event) => {
  (window.violations ??= []).push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""


@dataclass
class Opened:
    """A page, and what it did."""

    page: Page
    url: str
    """Of the service."""
    foreign: list[str] = field(default_factory=list[str])
    """Requests to anywhere else."""
    complaints: list[str] = field(default_factory=list[str])
    """Of the console, errors that nobody caught, and dialogs."""

    @property
    def violations(self) -> list[str]:
        """What the page's policy refused."""
        return self.page.evaluate("window.violations ?? []")

    def troubles(self) -> list[str]:
        """All of these; a page that works has none."""
        return [*self.foreign, *self.complaints, *self.violations]

    def go(self, path: str) -> None:
        """To another page, such as `/audit/traces`."""
        self.page.goto(f"{self.url}{path}")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth - innerWidth")

    def faults(self) -> list[tuple[str, str]]:
        """What axe-core finds: the rule, and the first element that breaks it."""
        package = find_spec("axe_playwright_python")
        assert package is not None
        assert package.origin is not None
        axe = (Path(package.origin).parent / "axe.min.js").read_text(encoding="utf-8")
        self.page.evaluate(axe)
        found = self.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        return [(fault["id"], fault["nodes"][0]["html"]) for fault in found["violations"]]


class Browsing:
    """Opens pages. One browser for many, because it takes a second to start."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    def open(
        self,
        url: str,
        path: str,
        *,
        width: int = 1280,
        scheme: Literal["light", "dark"] = "light",
        context: BrowserContext | None = None,
    ) -> Opened:
        """A page of the service at `url`, in a window of its own, or in one that has cookies already."""
        where = context or self.window(width=width, scheme=scheme)
        opened = Opened(where.new_page(), url)
        opened.page.on(
            "request",
            lambda request: opened.foreign.append(request.url) if not request.url.startswith((url, "data:")) else None,
        )
        opened.page.on("console", lambda message: opened.complaints.append(message.text))
        opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))

        def closed(dialog: Dialog) -> None:
            opened.complaints.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        opened.page.on("dialog", closed)
        opened.go(path)
        return opened

    def window(self, *, width: int = 1280, scheme: Literal["light", "dark"] = "light") -> BrowserContext:
        context = self._browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        context.add_init_script(_WATCH)
        context.set_default_timeout(10_000)
        return context

    def close(self) -> None:
        """Every window."""
        for context in self._browser.contexts:
            context.close()


@contextmanager
def browsing() -> Generator[Browsing]:
    """A Chromium that asks nobody for anything."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"],
        )
        yield Browsing(browser)
        browser.close()
