"""What the tests of all adapters share: a judge service over HTTP with a scripted judge, and traces to score."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from judged import Judged, judged


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    """One for a module's tests: what one test has asked, the next has from cache."""
    with judged(tmp_path_factory.mktemp("service")) as service:
        yield service


@pytest.fixture
def fresh_service(tmp_path: Path) -> Iterator[Judged]:
    """One that remembers nothing yet."""
    with judged(tmp_path / "service") as service:
        yield service


@pytest.fixture
def without_judge(tmp_path: Path) -> Iterator[Judged]:
    """One whose model's provider cannot be reached."""
    with judged(tmp_path / "service", provider_is_up=False) as service:
        yield service
