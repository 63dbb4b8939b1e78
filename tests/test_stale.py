"""`stepjudge rubric stale`: what a change outdates and what anew costs, told before anything is paid."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepjudge.client import JudgeClient
from stepjudge.rubric import Rubric

from fakes.provider import Provider
from tuning_desk import DESK, PRICE, Desk, judging, refunds, worded

STEPS = 4


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Provider(judging) as provider:
        yield Desk(tmp_path, provider)


def judged(desk: Desk, *rubrics: Rubric) -> None:
    with JudgeClient.embedded(data_dir=desk.data, **desk.settings) as client:
        for rubric in rubrics or (DESK,):
            for trace in refunds(STEPS):
                client.score(trace, rubric=rubric, judge="desk")


def test_nothing_is_stale_while_nothing_has_changed(desk: Desk) -> None:
    judged(desk)
    found = desk.json("rubric", "stale")
    assert (found["stale"], found["requests"], found["cost_usd"]) == (0, 0, 0.0)
    assert (found["groups"][0]["verdicts"], found["groups"][0]["current"]) == (STEPS, STEPS)


def test_a_new_rubric_outdates_every_verdict_and_the_estimate_is_what_it_then_costs(desk: Desk) -> None:
    judged(desk)
    new = worded("Think of the policy, and think twice.")
    asked = desk.provider.count
    found = desk.json("rubric", "stale", "--rubric", desk.rubric(new))
    assert desk.provider.count == asked, "telling it costs nothing"
    assert (found["stale"], found["requests"], found["groups"][0]["reasons"]) == (STEPS, STEPS, {"rubric": STEPS})

    before = desk.provider.usage
    judged(desk, new)
    after = desk.provider.usage
    really = PRICE * (after.prompt_tokens + after.completion_tokens - before.prompt_tokens - before.completion_tokens)
    assert desk.provider.count - asked == found["requests"]
    assert found["cost_usd"] == pytest.approx(really, rel=0.1)
    assert desk.json("rubric", "stale", "--rubric", desk.rubric(new))["stale"] == 0


def test_with_one_call_per_criterion_only_the_edited_one_is_counted(desk: Desk) -> None:
    old, new = (
        worded(text, version=version, ask="criterion") for text, version in (("Old.", "1.1.0"), ("New.", "1.2.0"))
    )
    judged(desk, old)
    asked = desk.provider.count
    found = desk.json("rubric", "stale", "--rubric", desk.rubric(new))
    assert (found["stale"], found["requests"]) == (STEPS, STEPS)
    judged(desk, new)
    assert desk.provider.count - asked == STEPS


def test_another_judge_outdates_them_too_and_two_versions_are_paid_for_once(desk: Desk) -> None:
    judged(desk, DESK, worded("Other words."))
    found = desk.json("rubric", "stale", "--rubric", desk.rubric(DESK), "--judge", "writer")
    reasons = [group["reasons"] for group in found["groups"]]
    assert reasons == [{"judge": STEPS}, {"rubric": STEPS, "judge": STEPS}]
    assert (found["stale"], found["requests"]) == (STEPS, STEPS)


def test_offline_rules_take_over_for_nothing(desk: Desk) -> None:
    judged(desk)
    found = desk.json("rubric", "stale", "--judge", "rules")
    assert (found["stale"], found["requests"], found["cost_usd"]) == (STEPS, 0, 0.0)


def test_what_is_printed_says_what_holds_and_why_the_rest_does_not(desk: Desk) -> None:
    judged(desk)
    shown = desk.run("rubric", "stale", "--rubric", desk.rubric(worded("New.")), "--list")
    assert f"desk@1.0.0 by desk → desk@1.1.0 by desk: 0 of {STEPS} hold; outdated by rubric {STEPS}: " in shown
    assert shown.count(" step 1: rubric; 1 model request, $0.0") == STEPS
    assert f"{STEPS} verdicts to give anew: {STEPS} model requests, $" in shown


def test_a_judge_that_is_not_configured_any_more_is_named(desk: Desk) -> None:
    judged(desk)
    with JudgeClient.embedded(data_dir=desk.data, any_model=False) as client:
        [group] = client.stale().groups
    assert "no judge 'desk'" in group.why_unknown
    assert (group.verdicts, group.current, group.cost_usd) == (STEPS, 0, None)
