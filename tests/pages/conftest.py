"""Fixtures that the tests of all pages share."""

from collections.abc import Iterator

import pytest

from stepjudge.client import JudgeClient

from judged import Judged, documents, judged
from pages.opened import Browsing, browsing


# A module's own, and not the session's: while it lives, no other event loop can run in the thread
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browsing]:
    with browsing() as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browsing) -> Iterator[Browsing]:
    yield chromium
    chromium.close()


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    """A service without keys that has scored three traces with a scripted model, and with the rules."""
    with judged(tmp_path_factory.mktemp("room")) as service, JudgeClient(service.url) as client:
        for document in documents().values():
            client.score(document)
            client.score(document, judge="rules")
        yield service
