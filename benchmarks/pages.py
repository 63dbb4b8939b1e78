"""How quick the audit room's pages are over a full ledger: p95 of each page, with 100,000 verdicts.

python benchmarks/pages.py [VERDICTS]
"""

import random
import statistics
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import httpx2 as httpx
import sqlalchemy as sa
import uvicorn

from judge_service import schema
from judge_service.app import create_app
from judge_service.chain import Chain, keep_chain
from judge_service.database import open_database
from judge_service.ledger import _row  # pyright: ignore[reportPrivateUsage]
from judge_service.register import enter_all
from judge_service.scoring import Scoring, scoring
from judge_service.seal import Sealing, row_digest, seal
from judge_service.settings import Settings
from judge_service.state import content, opening, states
from stepjudge.digest import digest
from stepjudge.rubric import Rubric
from stepjudge.rubric_file import shipped
from stepjudge.rubric_folder import find, published, read_folders
from stepjudge.scorecard import Landed
from stepjudge.trace import Call, Result, Step, Trace
from stepjudge.verdict import Answer, Evidence, Spent, Verdict, VerdictRecord

STEPS = 10
"""Of each trace."""
JUDGES = ("first", "second")
ASKS = 40
WORDS = [
    "the",
    "file",
    "test",
    "run",
    "fails",
    "passes",
    "open",
    "close",
    "read",
    "write",
    "search",
    "page",
    "city",
    "flight",
    "refund",
    "order",
    "error",
    "line",
]


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rubric = find(read_folders([shipped()], published(shipped())), "step")
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder)
        started = time.perf_counter()
        fill(data_dir, rubric, wanted)
        size = sum(path.stat().st_size for path in data_dir.glob("ledger*")) / 2**20
        print(
            f"{wanted:,} verdicts in {wanted // STEPS:,} scorings, {size:,.0f} MiB, made in {time.perf_counter() - started:.0f} s"
        )
        measure(data_dir)


def fill(data_dir: Path, rubric: Rubric, wanted: int) -> None:
    """Straight into the tables: nobody has to be asked."""
    settings = Settings(data_dir=data_dir)
    engine = open_database(settings.ledger)
    chance = random.Random(5262)
    batch: list[tuple[Chain, list[dict[str, object]], list[Scoring]]] = []
    for number in range(wanted // STEPS // len(JUDGES)):
        batch.append(made(number, rubric, chance))
        if len(batch) == 100:
            store(engine, rubric, batch)
            batch = []
    if batch:
        store(engine, rubric, batch)
    engine.dispose()


def store(engine: sa.Engine, rubric: Rubric, batch: list[tuple[Chain, list[dict[str, object]], list[Scoring]]]) -> None:
    with engine.begin() as connection:
        rows = [row for _, some, _ in batch for row in some]
        seal(connection, [Sealing("verdict", str(row["verdict_id"]), row_digest(row)) for row in rows])  # type: ignore[arg-type]
        for chain, _, _ in batch:
            keep_chain(connection, chain, [rubric])
        connection.execute(sa.insert(schema.verdicts), rows)
    enter_all(engine, [each for _, _, scorings in batch for each in scorings])


def made(number: int, rubric: Rubric, chance: random.Random) -> tuple[Chain, list[dict[str, object]], list[Scoring]]:
    steps = tuple(step(index, chance) for index in range(1, STEPS + 1))
    trace = Trace(trace_id=f"trial-{number}", task=f"Task {number}: {words(chance, 20)}", steps=steps)
    before, digests = states(trace, reasoning=False)
    chain = Chain(opening(trace), tuple(content(each, reasoning=False) for each in steps), before, digests)
    rows: list[dict[str, object]] = []
    scorings: list[Scoring] = []
    for judge in JUDGES:
        landed: dict[int, Landed] = {}
        for index in range(1, STEPS + 1):
            verdict = verdict_of(index, judge, rubric, chance)
            record = VerdictRecord(
                verdict=verdict, rubric=rubric.reference, rubric_digest=verdict.rubric, judge={"kind": "llm"},
                judge_digest=digest(judge), prompt_version="1", prompt_digests=(digest(index),), state_digest=before[index - 1],
                step_digest=digests[index - 1], exchanges=({"reply": words(chance, 120)},),
                created_at=f"2026-{1 + number % 12:02d}-01T10:00:00.000Z", service_version="0",
            )  # fmt: skip
            rows.append({**_row(record)})
            landed[index] = Landed(verdict, cached=False)
        scorings.append(scoring(trace, rubric, (judge, digest(judge)), (before, digests), landed))
    return chain, rows, scorings


def verdict_of(index: int, judge: str, rubric: Rubric, chance: random.Random) -> Verdict:
    answers = tuple(
        Answer(
            criterion=each.name, call=1 if each.unit == "call" else None, reason=words(chance, 30), confidence=chance.uniform(0.5, 1),
            answer=chance.choices(("yes", "no"), (9, 1))[0], evidence=(Evidence(place=f"s{index}.c1.tool", quote="bash"),),
            ungrounded=chance.random() < 0.01,
        )
        for each in rubric.criteria
    )  # fmt: skip
    spent = Spent(model=judge, requests=1, prompt_tokens=3_000, completion_tokens=300, cost_usd=0.01, latency_s=1.2)
    return Verdict(verdict_id=uuid.uuid4().hex, key=digest([judge, uuid.uuid4().hex]), step=index, rubric=_digest(rubric), judge=judge, answers=answers, spent=spent)  # fmt: skip


@cache
def _digest_of(reference: str) -> str:
    return find(read_folders([shipped()], published(shipped())), reference).digest


def _digest(rubric: Rubric) -> str:
    return _digest_of(rubric.reference)


def step(index: int, chance: random.Random) -> Step:
    text = f"{words(chance, 150)} {chance.randrange(10**6)}"
    call = Call(name="bash", arguments={"command": words(chance, 8)}, result=Result(text=text, state="present"))
    return Step(index=index, turn=1, llm_call=index, message=words(chance, 20), calls=(call,))


def words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))


def measure(data_dir: Path) -> None:
    server = uvicorn.Server(
        uvicorn.Config(create_app(Settings(data_dir=data_dir)), host="127.0.0.1", port=0, log_level="warning")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            for name, path in pages(client):
                took = sorted(timed(client, path) for _ in range(ASKS))
                print(
                    f"{name:34} median {1_000 * statistics.median(took):6.0f} ms   p95 {1_000 * took[int(0.95 * ASKS) - 1]:6.0f} ms"
                )
    finally:
        server.should_exit = True
        thread.join()


def pages(client: httpx.Client) -> Iterator[tuple[str, str]]:
    yield "traces", "/audit/traces"
    verdicts = client.get("/v1/verdicts").json()["verdicts"]
    yield "traces, far back", "/audit/traces?cursor=100"
    yield "traces, answer useful: no", "/audit/traces?answer=useful%3Dno"
    yield "traces, none with this answer", "/audit/traces?answer=useful%3Dundetermined"
    yield "traces, ungrounded", "/audit/traces?ungrounded=true"
    yield "traces, judges disagree", "/audit/traces?disagreement=true"
    yield "traces, search for a rare word", "/audit/traces?q=424242"
    yield "traces, search for common words", "/audit/traces?q=refund+flight"
    address = client.get(f"/audit/verdicts/{verdicts[0]['verdict_id']}").headers["location"]
    yield "trace", address
    yield "audit of a verdict", f"/audit/verdicts/{verdicts[0]['verdict_id']}/audit"
    yield "rubrics", "/audit/rubrics"
    yield "rubric", "/audit/rubrics/step@1.0.0"
    yield "judges", "/audit/judges"
    yield "review", "/audit/review"


def timed(client: httpx.Client, path: str) -> float:
    started = time.perf_counter()
    answer = client.get(path)
    if answer.status_code != 200:
        raise SystemExit(f"{path}: {answer.status_code} {answer.text[:300]}")
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
