"""The published reading of the pytest-5262 trace comes out of the real service, over HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepjudge.client import JudgeClient
from stepjudge.contract import Scorecard
from stepjudge.metric import Rate

from fakes.provider import Provider
from published import PUBLISHED
from serving import serving

TRACE = json.loads(Path("examples/pytest-5262/trace.json").read_text())


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeClient]:
    data_dir = tmp_path_factory.mktemp("data")
    with (
        Provider(PUBLISHED) as provider,
        serving(data_dir, judge="openai/scripted", api_base=provider.base_url) as url,
        JudgeClient(url) as client,
    ):
        yield client


def rates(card: Scorecard) -> tuple[Rate, Rate, Rate]:
    return card.scores.step_level, card.scores.tool_call_precision, card.scores.argument_accuracy


def test_merging_consecutive_reads_gives_the_published_figures(client: JudgeClient) -> None:
    card = client.score(TRACE, steps="1-5", group="consecutive-reads")

    assert rates(card) == (
        Rate(numerator=3, denominator=4),
        Rate(numerator=3, denominator=4),
        Rate(numerator=4, denominator=4),
    )
    assert [(recovery.step, recovery.fixes) for recovery in card.recoveries] == [(3, (2,))]
    assert (card.range, card.grouping, card.groups) == ("1-5", "consecutive-reads", ((1,), (2,), (3,), (4, 5)))


def test_without_grouping_the_same_verdicts_count_five_steps(client: JudgeClient) -> None:
    card = client.score(TRACE, steps="1-5")

    assert rates(card) == (
        Rate(numerator=4, denominator=5),
        Rate(numerator=4, denominator=5),
        Rate(numerator=5, denominator=5),
    )
    assert (card.range, card.grouping) == ("1-5", "none")


def test_every_answer_is_grounded_and_only_the_redundant_view_fails(client: JudgeClient) -> None:
    card = client.score(TRACE, steps="1-5")

    assert [step.score for step in card.steps] == [1, 0, 1, 1, 1]
    assert card.ungrounded == 0
    assert card.undetermined == 0
