"""A cascade over HTTP: cheap judges first, a strong one where they leave a question open."""

import re
from pathlib import Path
from typing import Any

import pytest

from judge_service.court_settings import ONE_ESCALATES, TWO_ESCALATE
from stepjudge.trace import Trace

from courts import STEPS, Bench, answer, answering, bench
from fakes.faults import UNAVAILABLE, Fault
from fakes.provider import Reply, Request
from scripted import Scripted, always, asked
from traces import call, step, trace

TWO: dict[str, Any] = {"cascade": {"kind": "cascade", "first": ["a", "b"], "then": "strong"}}
ONE: dict[str, Any] = {"cascade": {"kind": "cascade", "first": ["a"], "then": "strong"}}
SCRIPTS = {"a": answering(), "b": answering(useful="no"), "strong": answering(useful="no", valid="no")}


def escalated(court: Bench) -> list[dict[str, list[str]]]:
    """What each request to the strong judge asked."""
    return [asked(request) for request in court.provider.requests if request.model == "strong"]


def test_only_what_the_first_two_disagree_on_is_escalated(tmp_path: Path) -> None:
    with bench(tmp_path, SCRIPTS, TWO) as court:
        card = court.score("cascade", steps="2")
        assert escalated(court) == [{"act_1": ["useful"]}]

    useful, valid = answer(card, "useful", step=2), answer(card, "valid", step=2)
    assert (useful.answer, useful.decided_by) == ("no", ("strong",))
    assert "a says yes; b says no; strong decides" in useful.reason
    # the strong judge would say no here, but nobody asked it
    assert (valid.answer, valid.decided_by) == ("yes", ("a", "b"))


def test_nothing_is_escalated_where_the_first_two_agree(tmp_path: Path) -> None:
    with bench(tmp_path, {**SCRIPTS, "b": answering()}, TWO) as court:
        card = court.score("cascade")
        assert court.asked("strong") == 0
    assert card.undetermined == 0
    assert card.requests == 4


def test_calls_of_one_step_are_escalated_one_by_one(tmp_path: Path) -> None:
    parallel = trace(step(1, call("view", "one", path="/a"), call("view", "two", path="/b"), message="Looking."))

    def doubts_the_second_call(request: Request) -> Any:
        def words(_step: int, unit: str, name: str) -> str:
            if name == "recovery":
                return "not_applicable"
            return "no" if (unit, name) == ("act_2", "arguments") else "yes"

        return Scripted(words)(request)

    with bench(tmp_path, {**SCRIPTS, "b": doubts_the_second_call}, TWO) as court:
        card = court.score("cascade", parallel)
        assert escalated(court) == [{"act_2": ["arguments"]}]
    decided = {(a.criterion, a.call): a.decided_by for a in card.steps[0].details}
    assert decided["arguments", 2] == ("strong",)
    assert decided["arguments", 1] == ("a", "b")


def test_what_one_of_the_first_leaves_undetermined_is_escalated(tmp_path: Path) -> None:
    with bench(tmp_path, {**SCRIPTS, "b": answering(relevant="undetermined")}, TWO) as court:
        relevant = answer(court.score("cascade", steps="2"), "relevant", step=2)
        assert escalated(court) == [{"act_1": ["relevant"]}]
    assert (relevant.answer, relevant.decided_by) == ("yes", ("strong",))


def test_one_cheap_judge_escalates_its_noes(tmp_path: Path) -> None:
    with bench(tmp_path, {"a": answering(useful="no"), "strong": answering()}, ONE) as court:
        card = court.score("cascade", steps="2")
        assert escalated(court) == [{"act_1": ["useful"]}]
    assert answer(card, "useful", step=2).answer == "yes"
    assert answer(card, "valid", step=2).decided_by == ("a",)


def test_one_cheap_judge_may_be_believed_when_it_says_no_and_doubted_when_unsure(tmp_path: Path) -> None:
    def odds(token: str, _offset: int) -> dict[str, float]:
        return {token: 0.55, "no": 0.45} if token.strip() == "yes" else {token: 0.99}

    def hesitant(request: Request) -> Reply:
        """Sure of every no, and of no yes."""
        return Reply(answering(useful="no")(request), logprobs=odds)

    courts = {"cascade": {**ONE["cascade"], "escalate_no": False, "below_confidence": 0.8}}
    with bench(tmp_path, {"a": hesitant, "strong": answering()}, courts) as court:
        card = court.score("cascade", steps="2")
        (parts,) = escalated(court)
    assert "valid" in parts["act_1"]
    assert "useful" not in parts["act_1"]
    assert answer(card, "useful", step=2).answer == "no"


def test_the_escalation_is_a_verdict_of_its_own_whose_prompt_can_be_rendered_again(tmp_path: Path) -> None:
    with bench(tmp_path, SCRIPTS, TWO) as court:
        card = court.score("cascade", steps="2")
        audit = court.client.audit(card.steps[0].verdict_id)
        strong = audit.record.votes[-1]
        second = court.client.audit(strong.verdict_id)
        page = court.client.verdicts()

    assert [vote.member for vote in audit.record.votes] == ["a", "b", "strong"]
    assert (second.prompt_matches, second.state_matches) == (True, True)
    assert re.search(r"Not asked this time; .*: act_1.valid", second.prompts[0])
    # so that nobody takes its answers to the hard questions for its answers to all
    assert second.record.judge["kind"] == "referred"
    assert [summary.partial for summary in page.verdicts] == [False, True, False, False]


def test_the_strong_judge_is_not_shown_what_the_first_ones_said(tmp_path: Path) -> None:
    def talkative(_step: int, _unit: str, name: str) -> dict[str, str]:
        word = {"recovery": "not_applicable", "useful": "no"}.get(name, "yes")
        return {"answer": word, "reason": "BECAUSE-OF-B"}

    with bench(tmp_path, {**SCRIPTS, "b": Scripted(talkative)}, TWO) as court:
        court.score("cascade", steps="2")
        (request,) = [each for each in court.provider.requests if each.model == "strong"]
    assert "BECAUSE-OF-B" not in request.user


def test_escalations_are_remembered_and_the_first_judges_are_not_paid_again(tmp_path: Path) -> None:
    courts = {**TWO, "again": {"kind": "jury", "members": ["a", "b"]}}
    with bench(tmp_path, SCRIPTS, courts) as court:
        first = court.score("cascade")
        again = court.score("cascade")
        jury = court.score("again")

    assert (first.requests, again.requests, jury.requests) == (6, 0, 0)
    assert again.cached_steps == 2


@pytest.mark.parametrize(
    ("b", "useful", "valid"),
    [
        # both gave an answer and they differ: nobody can decide
        (answering(useful="no"), ("undetermined", "provider", ()), ("yes", None, ("a", "b"))),
        # only one gave an answer, and nobody disputes it
        (answering(useful="undetermined"), ("yes", None, ("a",)), ("yes", None, ("a", "b"))),
    ],
)
def test_without_the_strong_judge_only_what_is_undisputed_stands(
    tmp_path: Path, b: Any, useful: tuple[Any, ...], valid: tuple[Any, ...]
) -> None:
    def faults(request: Request) -> Fault | None:
        return UNAVAILABLE if request.model == "strong" else None

    with bench(tmp_path, {**SCRIPTS, "b": b}, TWO, faults=faults) as court:
        card = court.score("cascade", steps="2")
        again = court.score("cascade", steps="2")
        assert (court.asked("a"), court.asked("strong")) == (1, 2), "it is asked again next time, and it alone"

    said = {a.criterion: (a.answer, a.cause, a.decided_by) for a in card.steps[0].details}
    assert (said["useful"], said["valid"]) == (useful, valid)
    assert again.cached_steps == 0


def test_everything_failing_is_undetermined_with_the_cause(tmp_path: Path) -> None:
    with bench(tmp_path, SCRIPTS, TWO, faults=lambda _request: UNAVAILABLE) as court:
        card = court.score("cascade", steps="2")
    assert set(card.causes) == {"provider"}


def test_a_strong_judge_that_cannot_tell_leaves_it_undetermined(tmp_path: Path) -> None:
    with bench(tmp_path, {**SCRIPTS, "strong": answering(useful="undetermined")}, TWO) as court:
        useful = answer(court.score("cascade", steps="2"), "useful", step=2)
    assert (useful.answer, useful.cause) == ("undetermined", "judge_unsure")


def test_an_answer_that_excludes_an_agreed_one_makes_both_undetermined(tmp_path: Path) -> None:
    scripts = {
        "a": answering(valid="no", useful="no"),
        "b": answering(valid="no", useful="undetermined"),
        "strong": answering(),
    }
    with bench(tmp_path, scripts, TWO) as court:
        card = court.score("cascade", steps="2")
    assert {answer(card, name, step=2).cause for name in ("valid", "useful")} == {"contradiction"}


def test_an_estimate_says_what_is_to_be_expected_and_what_it_is_at_most(tmp_path: Path) -> None:
    courts = {**TWO, "one": ONE["cascade"], "own": {**TWO["cascade"], "expected_share": 0.5}}
    with bench(tmp_path, SCRIPTS, courts) as court:
        two, one, own = (court.client.estimate(STEPS, judge=name) for name in ("cascade", "one", "own"))
        alone = court.client.estimate(STEPS, judge="strong").cost_usd or 0.0

    assert [(each.requests, each.most_requests) for each in (two, one, own)] == [(5, 6), (3, 4), (5, 6)]
    assert two.cost_usd == pytest.approx((2 + TWO_ESCALATE) * alone)
    assert one.cost_usd == pytest.approx((1 + ONE_ESCALATES) * alone)
    assert two.most_cost_usd == pytest.approx(3 * alone)


def test_a_long_trace_is_judged_at_few_places_at_once_without_waiting_for_ever(tmp_path: Path) -> None:
    long: Trace = trace(*(step(n, call("view", f"line {n}", path=f"/{n}")) for n in range(1, 9)))
    with bench(tmp_path, {**SCRIPTS, "strong": always("yes")}, TWO, concurrency=1) as court:
        card = court.score("cascade", long)
    assert (card.requests, card.undetermined) == (24, 0)


def test_an_estimate_says_when_the_last_judge_alone_would_be_cheaper(tmp_path: Path) -> None:
    dear = {"input_cost_per_token": 1e-4, "output_cost_per_token": 1e-4}
    with bench(
        tmp_path,
        {**SCRIPTS, "dear": always("yes")},
        {**TWO, "cheap": {"kind": "cascade", "first": ["a", "b"], "then": "dear"}},
        models={"dear": dear},
    ) as court:
        vain, wise = (court.client.estimate(STEPS, judge=name).note for name in ("cascade", "cheap"))
    assert "ask that one" in vain
    assert wise == ""
