"""`stepjudge audit replay`: stored replies, read again by the code of today, beside what was made of them then."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from judge_service import schema
from stepjudge.client import JudgeClient

from courts import STEPS, answering, bench
from fakes.provider import Provider
from scripted import always
from tuning_desk import DESK, Desk, judging, refunds

Record = dict[str, Any]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Three refunds, judged."""
    with Provider(judging) as provider:
        desk = Desk(tmp_path, provider)
        with JudgeClient.embedded(data_dir=desk.data, **desk.settings) as client:
            for trace in refunds(3):
                client.score(trace, rubric=DESK, judge="desk")
        yield desk


def rewritten(data: Path, change: Callable[[Record], None]) -> None:
    """The first verdict of the ledger, as another version of the code might have stored it."""
    engine = sa.create_engine(f"sqlite:///{data / 'ledger.sqlite3'}")
    with engine.begin() as connection:
        row = connection.execute(sa.select(schema.verdicts).order_by(schema.verdicts.c.sequence).limit(1)).one()
        record = json.loads(row.record)
        change(record)
        here = schema.verdicts.c.sequence == row.sequence
        connection.execute(sa.update(schema.verdicts).where(here).values(record=json.dumps(record)))
    engine.dispose()


def test_what_was_read_rightly_reads_the_same_and_no_model_is_asked(desk: Desk) -> None:
    asked = desk.provider.count
    found = desk.json("audit", "replay")
    assert found == {"read": 3, "without_reply": 0, "damaged": 0, "ask_again": 0, "why": {}, "flips": []}
    assert desk.provider.count == asked
    assert "3 verdicts read again: 0 answers come out otherwise" in desk.run("audit", "replay")


def test_a_reply_that_an_older_parser_could_not_read_flips(desk: Desk) -> None:
    def unread(record: Record) -> None:
        record["verdict"]["answers"][0].update(answer="undetermined", cause="malformed_reply")

    rewritten(desk.data, unread)
    [flip] = desk.json("audit", "replay")["flips"]
    was = (flip["criterion"], flip["stored"], flip["stored_cause"], flip["now"], flip["now_cause"], flip["why"])
    assert was == ("allowed", "undetermined", "malformed_reply", "yes", None, "reading")
    shown = desk.run("audit", "replay")
    assert "step 1, allowed: undetermined (malformed_reply) → yes (reading)" in shown
    assert "3 verdicts read again: 1 answer come out otherwise (1 reading)" in shown


def test_a_quote_that_counted_as_missing_is_found_and_one_that_is_gone_is_noticed(desk: Desk) -> None:
    def ungrounded(record: Record) -> None:
        record["verdict"]["answers"][0]["ungrounded"] = True
        reply = json.loads(record["exchanges"][-1]["reply"])
        reply["step"]["polite"]["evidence"] = [{"place": "s1.message", "quote": "nobody said this"}]
        record["exchanges"][-1]["reply"] = json.dumps(reply)

    rewritten(desk.data, ungrounded)
    found = desk.json("audit", "replay")
    flips = [
        (each["criterion"], each["stored_ungrounded"], each["now_ungrounded"], each["why"]) for each in found["flips"]
    ]
    assert flips == [("allowed", True, False, "grounding"), ("polite", False, True, "grounding")]
    assert found["ask_again"] == 1, "the judge would have been asked for a quote that stands"


def test_answers_below_a_confidence_are_listed_when_it_is_asked_for(desk: Desk) -> None:
    def unsure(record: Record) -> None:
        for answer, confidence in zip(record["verdict"]["answers"], (0.55, 0.95), strict=True):
            answer["confidence"] = confidence

    rewritten(desk.data, unsure)
    assert desk.json("audit", "replay")["flips"] == []
    [flip] = desk.json("audit", "replay", "--min-confidence", 0.8)["flips"]
    assert (flip["criterion"], flip["stored"], flip["now"], flip["why"]) == (
        "allowed",
        "yes",
        "undetermined",
        "threshold",
    )


def test_a_jury_that_needs_more_votes_is_split(tmp_path: Path) -> None:
    scripts = {"a": always("yes"), "b": always("yes"), "c": answering(useful="no")}
    with bench(tmp_path / "data", scripts, {"jury": {"kind": "jury", "members": ["a", "b", "c"]}}) as court:
        court.score("jury", steps="2")
    with Provider(judging) as provider:
        desk = Desk(tmp_path, provider)
        assert desk.json("audit", "replay", "--judge", "jury")["flips"] == []
        found = desk.json("audit", "replay", "--judge", "jury", "--needs", 3)
    assert [(each["criterion"], each["now"], each["now_cause"], each["why"]) for each in found["flips"]] == [
        ("useful", "undetermined", "jury_split", "jury")
    ]
    assert STEPS.steps[1].calls, "facts leave all criteria of this step open"


def test_a_damaged_verdict_is_counted_and_does_not_stop_the_others(desk: Desk) -> None:
    def lost(record: Record) -> None:
        record["rubric_digest"] = "sha256:" + 64 * "0"

    rewritten(desk.data, lost)
    found = desk.json("audit", "replay")
    assert (found["read"], found["damaged"]) == (2, 1)


def test_only_what_is_asked_for_is_read(desk: Desk) -> None:
    assert desk.json("audit", "replay", "--rubric", "desk")["read"] == 3
    assert desk.json("audit", "replay", "--rubric", "desk@1.0.0", "--judge", "desk")["read"] == 3
    assert desk.json("audit", "replay", "--rubric", "des")["read"] == 0
