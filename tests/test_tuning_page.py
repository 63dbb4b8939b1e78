"""The worked example of docs/tuning.md, run as it stands there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from documented import DOCS
from fakes.provider import Provider
from tuning_desk import DESK, RULE, Desk, judging, worded


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Provider(judging) as provider:
        desk = Desk(tmp_path, provider)
        desk.labelled(60)
        for rubric in (DESK, worded(f"Refunds are allowed if they are {RULE}.")):
            desk.rubric(rubric)
        yield desk


def test_the_worked_example_prints_what_the_page_says(desk: Desk) -> None:
    page = (DOCS / "tuning.md").read_text(encoding="utf-8")
    examples = re.findall(r"```console\n\$ stepjudge (.+?)\n```\n\n```output\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 3
    for command, output in examples:
        names = {path.name: path for path in desk.folder.iterdir()}
        shown = desk.run(*(names.get(word, word) for word in shlex.split(command)))
        assert [line for line in output.splitlines() if line not in shown] == [], shown
