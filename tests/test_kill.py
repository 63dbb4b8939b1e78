"""Killed again and again while it scores, the service loses nothing that it answered, and pays for nothing twice."""

import multiprocessing
import random
import re
import sqlite3
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from judge_service.database import open_database
from judge_service.verify import Verification
from stepjudge.client import JudgeClient

from fakes.provider import Provider, Request
from killed import WORD, document, score_all
from scripted import always, asked_step

KILLS = 100
STEPS = 10
IN_FLIGHT = 4
LATENCY_S = 0.02


class Till:
    """A scripted model that notes for which step of which document it was paid."""

    def __init__(self) -> None:
        self.paid: Counter[tuple[int, int]] = Counter()
        self._script = always("yes")

    def __call__(self, request: Request) -> dict[str, Any]:
        number = int(re.findall(rf"{WORD}(\d+)", request.user)[0])
        self.paid[number, asked_step(request)] += 1
        return self._script(request)


def heard(listening: Connection, into: list[tuple[Any, ...]]) -> bool:
    """Whether there is more to come; what was told by now is added."""
    try:
        while listening.poll():
            into.append(listening.recv())
    except EOFError:
        return False
    return True


def test_a_hundred_kills_lose_no_answer_and_pay_only_for_what_was_in_flight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(5262)
    context = multiprocessing.get_context("forkserver")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    context.set_forkserver_preload(["warm"])
    answered: dict[tuple[int, int], str] = {}
    till = Till()
    next_document, killed_while_scoring = 0, 0
    with Provider(till, latency=LATENCY_S, record=False) as provider:
        settings = {
            "data_dir": tmp_path,
            "judge": "openai/fake",
            "api_base": provider.base_url,
            "concurrency": IN_FLIGHT,
            "max_cost_usd": None,
        }
        for _ in range(KILLS):
            before = Counter(till.paid)
            listening, telling = context.Pipe(duplex=False)
            numbers = tuple(range(next_document, next_document + 20))
            process = context.Process(target=score_all, args=(settings, numbers, STEPS, telling))
            process.start()
            telling.close()
            told: list[tuple[Any, ...]] = []
            enough, patience = chance.randint(0, 2 * STEPS), time.monotonic() + 60
            while len(told) <= enough and heard(listening, told) and time.monotonic() < patience:
                listening.poll(0.05)
            time.sleep(chance.uniform(0, 2 * LATENCY_S))
            process.kill()
            process.join()
            while heard(listening, told):
                pass
            listening.close()
            assert process.exitcode == -9, "it had more to score than time allowed"

            again = {key for key in till.paid if till.paid[key] > before[key]} & set(answered)
            assert not again, "what was answered is not paid for again"
            for _word, number, step, verdict_id in (each for each in told if each[0] == "landed"):
                assert answered.setdefault((number, step), verdict_id) == verdict_id, "nor judged again"
            killed_while_scoring += ("open",) in told
            while all((next_document, step) in answered for step in range(1, STEPS + 1)):
                next_document += 1

        with JudgeClient.embedded(**settings) as client:
            for (number, step), verdict_id in answered.items():
                found = client.audit(verdict_id)
                assert found.state_matches
                assert found.prompt_matches
                assert found.record.verdict.step == step
                assert f"{WORD}{number} line {step}\n" in found.prompts[0]
            finished = client.score(document(next_document, STEPS))
            assert finished.undetermined == 0

    assert killed_while_scoring == KILLS
    assert len(answered) > KILLS, "most were killed in the middle of something"
    twice = sum(count - 1 for count in till.paid.values())
    assert twice <= KILLS * IN_FLIGHT
    engine = open_database(f"sqlite:///{tmp_path / 'ledger.sqlite3'}")
    assert list(Verification(engine).faults()) == []
    engine.dispose()
    for file in ("ledger.sqlite3", "cache/cache.db"):
        database = sqlite3.connect(tmp_path / file)
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        database.close()
    assert not list(tmp_path.glob("cache.corrupt-*"))
