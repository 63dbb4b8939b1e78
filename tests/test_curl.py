"""The curl examples of the documentation, run as they stand there by a shell against a real service."""

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serving import serving

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))]
KEY = "ann-secret"


def examples() -> dict[str, str]:
    """Every `sh` block that uses curl, by page and place."""
    return {
        f"{page}-{number}": block
        for page in PAGES
        for number, block in enumerate(re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(), re.DOTALL), start=1)
        if "curl" in block
    }


EXAMPLES = examples()


@pytest.fixture(scope="module")
def open_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Without keys, as on one's own machine."""
    with serving(tmp_path_factory.mktemp("open")) as url:
        yield url


@pytest.fixture(scope="module")
def locked_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    keys = {"ann": {"sha256": hashlib.sha256(KEY.encode()).hexdigest(), "scopes": ("judge", "read")}}
    with serving(tmp_path_factory.mktemp("locked"), api_keys=keys) as url:
        yield url


def run(example: str, url: str, **more: str) -> list[dict[str, Any] | list[Any]]:
    """The JSON that the block prints, by line."""
    environment = {**os.environ, "STEPJUDGE_URL": url, "no_proxy": "127.0.0.1", **more}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", example],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_answered_and_not_with_a_problem(open_service: str, name: str) -> None:
    said = run(EXAMPLES[name], open_service, STEPJUDGE_CLIENT_KEY=KEY)
    assert said
    assert [each["title"] for each in said if isinstance(each, dict) and "status" in each and "title" in each] == []


def test_the_pages_have_examples() -> None:
    assert [name for name in EXAMPLES if name.startswith("docs/service.md")]


def test_scoring_and_streaming_say_what_the_page_says(open_service: str) -> None:
    first, streaming, *_ = (example for name, example in EXAMPLES.items() if name.startswith("docs/service.md"))
    (card,) = run(first, open_service)
    assert isinstance(card, dict)
    assert (card["judge"], card["total_steps"]) == ("rules", 1)
    events = [event for event in run(streaming, open_service) if isinstance(event, dict)]
    assert [event["type"] for event in events] == ["step"] * 6 + ["scorecard"]


def test_with_keys_only_the_example_that_sends_one_is_let_in(locked_service: str) -> None:
    for name, example in EXAMPLES.items():
        (said, *_) = run(example, locked_service, STEPJUDGE_CLIENT_KEY=KEY)
        if "STEPJUDGE_CLIENT_KEY" in example:
            assert isinstance(said, list), name
        else:
            assert isinstance(said, dict)
            assert said["title"] == "Unauthorized", name


def test_a_wrong_key_opens_nothing(locked_service: str) -> None:
    (example,) = (each for each in EXAMPLES.values() if "STEPJUDGE_CLIENT_KEY" in each)
    (said,) = run(example, locked_service, STEPJUDGE_CLIENT_KEY="wrong")
    assert isinstance(said, dict)
    assert said["status"] == 401
