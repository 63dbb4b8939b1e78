"""A jury over HTTP: several models of one provider, each with a script of its own."""

import shutil
from pathlib import Path

import pytest
from pydantic import ValidationError

from judge_service.settings import Settings
from stepjudge.client import JudgeClient
from stepjudge.errors import JudgeRefused

from courts import STEPS, Script, answer, answering, bench, model
from fakes.faults import UNAVAILABLE, Fault
from fakes.provider import Provider, Reply, Request
from scripted import always
from serving import serving

THREE = {"jury": {"kind": "jury", "members": ["a", "b", "c"]}}
SCRIPTS = {
    "a": answering(),
    "b": answering(useful="no"),
    "c": answering(useful="no", arguments="undetermined"),
}


def test_most_votes_decide_and_the_share_that_agrees_is_the_confidence(tmp_path: Path) -> None:
    with bench(tmp_path, SCRIPTS, THREE) as court:
        card = court.score("jury", steps="2")
        useful, valid, arguments = (answer(card, name, step=2) for name in ("useful", "valid", "arguments"))

        assert (useful.answer, useful.confidence, useful.decided_by) == ("no", pytest.approx(2 / 3), ("b", "c"))
        assert (valid.answer, valid.confidence, valid.decided_by) == ("yes", 1.0, ("a", "b", "c"))
        # who does not answer has no vote, but agrees with nobody either
        assert (arguments.answer, arguments.confidence) == ("yes", pytest.approx(2 / 3))
        assert "2 say no (b, c)" in useful.reason
        assert "1 says yes (a)" in useful.reason
        assert "jury of 3" in card.judge_note


def test_the_record_says_who_disagreed_and_each_member_can_be_audited(tmp_path: Path) -> None:
    with bench(tmp_path, SCRIPTS, THREE) as court:
        card = court.score("jury", steps="2")
        audit = court.client.audit(card.steps[0].verdict_id)
        votes = {vote.member: vote for vote in audit.record.votes}
        member = court.client.audit(votes["a"].verdict_id)

    said = {name: next(a.answer for a in vote.answers if a.criterion == "useful") for name, vote in votes.items()}
    assert said == {"a": "yes", "b": "no", "c": "no"}
    assert [exchange["member"] for exchange in audit.record.exchanges] == ["a", "b", "c"]
    assert audit.prompt_matches is None
    assert (member.prompt_matches, member.record.verdict.judge) == (True, "a")


def test_spent_is_the_sum_over_the_members(tmp_path: Path) -> None:
    with bench(tmp_path, SCRIPTS, THREE) as court:
        card = court.score("jury")
        usage = court.provider.usage

    assert card.requests == 6
    assert card.cost_usd == pytest.approx(1e-6 * (usage.prompt_tokens + usage.completion_tokens))


def test_no_member_is_paid_twice_for_one_step(tmp_path: Path) -> None:
    juries = {**THREE, "other": {"kind": "jury", "members": ["a", "b"]}}
    with bench(tmp_path, SCRIPTS, juries) as court:
        court.score("a")
        first = court.score("jury")
        other = court.score("other")
        alone = court.score("c")
        assert {name: court.asked(name) for name in "abc"} == {"a": 2, "b": 2, "c": 2}

    assert (first.requests, other.requests, other.cost_usd) == (4, 0, 0.0)
    assert (alone.cached_steps, other.cached_steps) == (2, 0)


def test_members_are_found_in_the_ledger_when_the_cache_is_gone(tmp_path: Path) -> None:
    with Provider(always("yes")) as provider:
        judges = {**{name: model(provider, name) for name in "abc"}, **THREE}
        with serving(tmp_path, judges=judges) as url, JudgeClient(url) as client:
            client.score(STEPS, judge="a")
        shutil.rmtree(tmp_path / "cache")
        with serving(tmp_path, judges=judges) as url, JudgeClient(url) as client:
            card = client.score(STEPS, judge="jury")

    assert (card.requests, provider.count) == (4, 6)


def test_a_tie_is_undetermined_and_says_so(tmp_path: Path) -> None:
    with bench(tmp_path, SCRIPTS, {"pair": {"kind": "jury", "members": ["a", "b"]}}) as court:
        useful = answer(court.score("pair", steps="2"), "useful", step=2)

    assert (useful.answer, useful.cause, useful.decided_by) == ("undetermined", "jury_split", ())
    assert "yes (a)" in useful.reason
    assert "no (b)" in useful.reason


def test_a_jury_may_need_more_than_a_majority(tmp_path: Path) -> None:
    with bench(tmp_path, SCRIPTS, {"all": {"kind": "jury", "members": ["a", "b", "c"], "needs": 3}}) as court:
        card = court.score("all", steps="2")

    assert answer(card, "valid", step=2).answer == "yes"
    assert answer(card, "useful", step=2).cause == "jury_split"


def test_the_others_decide_when_a_member_fails_and_the_next_request_asks_only_that_one(tmp_path: Path) -> None:
    def down(request: Request) -> Fault | None:
        return UNAVAILABLE if request.model == "c" and court.asked("c") <= 2 else None

    with bench(tmp_path, SCRIPTS, THREE, faults=down) as court:
        card, again = court.score("jury"), court.score("jury")
        counts = [court.asked(name) for name in "abc"]

    valid = answer(card, "valid", step=2)
    assert (valid.answer, valid.confidence, valid.decided_by) == ("yes", pytest.approx(2 / 3), ("a", "b"))
    assert answer(card, "useful", step=2).cause == "jury_split"
    assert answer(again, "useful", step=2).answer == "no"
    assert counts == [2, 2, 4]


def test_all_members_failing_is_undetermined_with_their_cause(tmp_path: Path) -> None:
    with bench(tmp_path, SCRIPTS, THREE, faults=lambda _request: UNAVAILABLE) as court:
        card = court.score("jury", steps="2")

    assert set(card.causes) == {"provider"}
    assert card.undetermined == sum(each.settled_by == "judge" for each in card.steps[0].details)


def test_samples_of_one_model_are_votes_of_their_own(tmp_path: Path) -> None:
    said = iter(["yes", "no", "no"] * 9)

    def unsteady(request: Request) -> object:
        return answering(useful=next(said))(request)

    courts = {"five": {"kind": "jury", "members": ["a"], "samples": 3}}
    with bench(tmp_path, {"a": unsteady}, courts, models={"a": {"temperature": 1.0}}) as court:
        useful = answer(court.score("five", steps="2"), "useful", step=2)
        again = court.score("five", steps="2")
        alone = court.score("a", steps="2")

        assert court.asked("a") == 3
    assert (useful.answer, useful.confidence, len(useful.decided_by)) == ("no", pytest.approx(2 / 3), 2)
    assert (again.cached_steps, alone.cached_steps) == (1, 1), "the judge alone is the first sample"


def test_samples_that_cannot_differ_are_named_as_such(tmp_path: Path) -> None:
    with bench(tmp_path, SCRIPTS, {"same": {"kind": "jury", "members": ["a"], "samples": 3}}) as court:
        notes = {judge.name: judge.note for judge in court.client.judges()}
    assert "raise the temperature" in notes["same"]


def test_answers_of_different_majorities_that_exclude_each_other_are_undetermined(tmp_path: Path) -> None:
    scripts = {
        "a": answering(),
        "b": answering(valid="undetermined"),
        "c": answering(valid="no", useful="undetermined"),
        "d": answering(valid="no", useful="undetermined"),
    }
    with bench(tmp_path, scripts, {"jury": {"kind": "jury", "members": list("abcd")}}) as court:
        card = court.score("jury", steps="2")

    # two of three say that it is not valid, two of two that it is useful
    assert {answer(card, name, step=2).cause for name in ("valid", "useful")} == {"contradiction"}


def test_the_budget_of_a_request_holds_for_all_members_together(tmp_path: Path) -> None:
    with bench(tmp_path, SCRIPTS, THREE) as court:
        card = court.score("jury", max_cost_usd=0.0)
        assert (court.provider.count, set(card.causes)) == (0, {"budget"})


def test_an_estimate_counts_every_member_and_none_that_is_remembered(tmp_path: Path) -> None:
    with bench(tmp_path, SCRIPTS, THREE) as court:
        before = court.client.estimate(STEPS, judge="jury")
        alone = court.client.estimate(STEPS, judge="a")
        court.score("b")
        after = court.client.estimate(STEPS, judge="jury")

    assert (before.requests, before.most_requests, alone.requests, after.requests) == (6, 6, 2, 4)
    assert before.cost_usd == pytest.approx(3 * (alone.cost_usd or 0))


def test_the_rules_and_a_model_can_sit_together(tmp_path: Path) -> None:
    with bench(tmp_path, SCRIPTS, {"mixed": {"kind": "jury", "members": ["rules", "a"]}}) as court:
        card = court.score("mixed", steps="2")
        assert court.provider.count == 1
    valid = answer(card, "valid", step=2)
    assert (valid.answer, valid.confidence, valid.decided_by) == ("yes", 0.5, ("a",))


def test_another_member_or_vote_count_is_another_judge(tmp_path: Path) -> None:
    courts = {
        **THREE,
        "two": {"kind": "jury", "members": ["a", "b"]},
        "all": {"kind": "jury", "members": ["a", "b", "c"], "needs": 3},
    }
    with bench(tmp_path, SCRIPTS, courts) as court:
        digests = {judge.name: judge.digest for judge in court.client.judges()}
    assert len(set(digests.values())) == len(digests)


def test_a_refusing_member_does_not_speak_for_the_jury(tmp_path: Path) -> None:
    def refusing(_request: Request) -> Reply:
        return Reply(refusal="I will not.")

    scripts: dict[str, Script] = {**SCRIPTS, "c": refusing}
    with bench(tmp_path, scripts, {"jury": {"kind": "jury", "members": ["c", "a"]}}) as court:
        card = court.score("jury", steps="2")
    assert answer(card, "valid", step=2).decided_by == ("a",)


@pytest.mark.parametrize(
    ("court", "says"),
    [
        ({"kind": "jury", "members": ["a"]}, "2 to 25 votes"),
        ({"kind": "jury", "members": ["a", "a"]}, "samples"),
        ({"kind": "jury", "members": ["a", "b"], "needs": 3}, "more votes than it has"),
        ({"kind": "jury", "members": ["a", "nobody"]}, "none of `judges`"),
        ({"kind": "jury", "members": ["a", "jury"]}, "asks judges itself"),
        ({"kind": "parliament", "members": ["a", "b"]}, "jury or cascade"),
        ({"kind": "cascade", "first": ["a"], "then": "a"}, "different ones"),
        ({"kind": "cascade", "first": ["a", "b", "c"], "then": "a"}, "at most 2"),
        ({"kind": "cascade", "first": ["a"], "then": "nobody"}, "none of `judges`"),
    ],
)
def test_a_court_that_cannot_sit_is_refused_with_the_reason(
    tmp_path: Path, court: dict[str, object], says: str
) -> None:
    models = {name: {"model": f"openai/{name}"} for name in "ab"}
    with pytest.raises(ValidationError, match=says):
        Settings(data_dir=tmp_path, judges={**models, "jury": court})  # pyright: ignore[reportArgumentType]


def test_a_court_is_named_like_any_judge(tmp_path: Path) -> None:
    with (
        bench(tmp_path, {"a": always("yes"), "b": always("yes")}, {}) as court,
        pytest.raises(JudgeRefused, match="a, b"),
    ):
        court.score("jury")
