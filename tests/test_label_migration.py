"""A ledger from before there were labels: its verdicts are found by step afterwards, damaged ones are left as they are."""

import sqlalchemy as sa
from alembic import command

from judge_service.database import alembic, open_database
from judge_service.judged import Judged

from ledgers import record


def test_old_verdicts_are_found_by_step_and_a_damaged_record_stops_nothing(ledger_url: str) -> None:
    engine = open_database(ledger_url)
    row = {"key": "k", "remembered": True, "created_at": "t", "rubric": "step@1.0.0", "rubric_digest": "r"}
    row |= {"judge": "rules", "undetermined": 0}
    old = sa.table("verdicts", *map(sa.column, (*row, "verdict_id", "record")))
    texts = {"v1": record(1).model_dump_json(), "damaged": '{"judge_digest": 5', "odd": '{"state_digest": []}'}
    with engine.connect() as connection:
        command.downgrade(alembic(connection), "0001")
        for name, text in texts.items():
            connection.execute(sa.insert(old).values({**row, "verdict_id": name, "record": text}))
        connection.commit()
    engine.dispose()

    engine = open_database(ledger_url)
    [found] = Judged(engine).of_step("s", "t")
    assert (found.verdict_id, found.judge_digest) == ("v1", "j")
    assert [pair.judge_digest for pair in Judged(engine).pairs("step")] == ["j"]
    with engine.connect() as connection:
        assert connection.execute(sa.text("select count(*) from verdicts where judge_digest is null")).scalar() == 2
        # and back: labels go, verdicts stay
        command.downgrade(alembic(connection), "0001")
        connection.commit()
        assert not sa.inspect(connection).has_table("labels")
        assert connection.execute(sa.text("select count(*) from verdicts")).scalar() == 3
    engine.dispose()
