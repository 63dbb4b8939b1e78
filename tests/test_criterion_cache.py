"""A rubric that asks each criterion alone pays again only for the criterion that was edited."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepjudge.client import JudgeClient
from stepjudge.rubric import Rubric

from fakes.provider import Provider
from scripted import always
from tuning_desk import DESK, refunds, worded

(TRACE,) = refunds(1)
ALONE = DESK.model_copy(update={"ask": "criterion"})


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider(always("yes")) as provider:
        yield provider


@pytest.fixture
def client(provider: Provider, tmp_path: Path) -> Iterator[JudgeClient]:
    with JudgeClient.embedded(data_dir=tmp_path, judge="openai/fake", api_base=provider.base_url) as client:
        yield client


def paid(provider: Provider, client: JudgeClient, rubric: Rubric) -> list[str]:
    """Which criteria scoring under the rubric asks the model about."""
    before = len(provider.requests)
    client.score(TRACE, rubric=rubric)
    return sorted(
        name
        for request in provider.requests[before:]
        for name in ("allowed", "polite")
        if f"## {name} " in request.system
    )


def test_an_edit_of_one_criterion_pays_for_that_one_only(provider: Provider, client: JudgeClient) -> None:
    assert paid(provider, client, ALONE) == ["allowed", "polite"]

    edited = worded("The policy has changed.", ask="criterion")
    estimate = client.estimate(TRACE, rubric=edited)
    assert (estimate.cached_steps, estimate.requests) == (0, 1)
    assert paid(provider, client, edited) == ["allowed"]
    assert paid(provider, client, edited) == []


def test_another_instruction_pays_for_all_and_another_title_for_none(provider: Provider, client: JudgeClient) -> None:
    paid(provider, client, ALONE)
    retitled = ALONE.model_copy(update={"title": "Refunds", "version": "2.0.0"})
    assert paid(provider, client, retitled) == []
    instructed = ALONE.model_copy(update={"instructions": "Grade it.", "version": "2.0.1"})
    assert paid(provider, client, instructed) == ["allowed", "polite"]


def test_a_rubric_that_asks_all_at_once_pays_for_the_whole_step(provider: Provider, client: JudgeClient) -> None:
    paid(provider, client, DESK)
    assert paid(provider, client, worded("The policy has changed.")) == ["allowed", "polite"]
    assert provider.count == 2, "both criteria stand in one prompt"


def test_the_prompt_of_a_criterion_alone_holds_no_word_of_the_others(provider: Provider, client: JudgeClient) -> None:
    client.score(TRACE, rubric=ALONE)
    for request in provider.requests:
        assert ("allowed" in request.system) != ("polite" in request.system)
        assert ("allowed" in request.user) != ("polite" in request.user)


def test_what_the_ledger_remembers_of_criteria_is_found_without_the_cache(provider: Provider, tmp_path: Path) -> None:
    settings = {"data_dir": tmp_path, "judge": "openai/fake", "api_base": provider.base_url}
    with JudgeClient.embedded(**settings) as client:
        client.score(TRACE, rubric=ALONE)
    for path in sorted((tmp_path / "cache").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    with JudgeClient.embedded(**settings) as client:
        assert paid(provider, client, worded("Changed.", ask="criterion")) == ["allowed"]


def test_a_whole_verdict_says_what_each_criterion_cost_and_what_was_reused(
    provider: Provider, client: JudgeClient
) -> None:
    client.score(TRACE, rubric=ALONE)
    card = client.score(TRACE, rubric=worded("Changed.", ask="criterion"))
    record = client.audit(card.steps[0].verdict_id).record
    assert {vote.member: vote.reused for vote in record.votes} == {"allowed": False, "polite": True}
    assert (card.requests, record.verdict.spent.requests) == (1, 1)
