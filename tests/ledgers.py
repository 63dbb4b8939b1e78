"""Ledgers for tests: opened with their writer running, and records to append."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from judge_service.ledger import Ledger
from stepjudge.verdict import Answer, Verdict, VerdictRecord


def record(number: int, key: str = "k") -> VerdictRecord:
    verdict = Verdict(
        verdict_id=f"v{number}",
        key=key,
        step=1,
        rubric="r",
        judge="rules",
        answers=(Answer(criterion="valid", answer="yes", reason=str(number)),),
    )
    return VerdictRecord(
        verdict=verdict,
        rubric="step@1.0.0",
        rubric_digest="r",
        judge={"kind": "rules"},
        judge_digest="j",
        prompt_version="1",
        prompt_digests=(),
        state_digest="s",
        step_digest="t",
        created_at="2026-12-01T00:00:00.000Z",
        service_version="0",
    )


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[Ledger]:
    ledger = Ledger.open(url)
    async with anyio.create_task_group() as group:
        group.start_soon(ledger.running)
        yield ledger
        ledger.close()
    ledger.dispose()
