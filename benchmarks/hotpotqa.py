# pyright: basic
"""AgentProcessBench hotpotqa as the benchmarks read it: steps with human labels, facts, outcomes and recorded judges."""

import json
from dataclasses import dataclass
from pathlib import Path

import anyio
import numpy as np

from judge_service.facts import facts
from stepjudge.checks import Scene, read_check, run_checks
from stepjudge.formats import agent_process_bench
from stepjudge.formats.reading.format import Origin
from stepjudge.recorded_answers import PairedStep, paired, read_recorded
from stepjudge.verdict import Fact

DATA = Path(__file__).parents[1].parent / "shared" / "data" / "agentprocessbench"
CLASSES = (-1, 0, 1)
CHECK = {"kind": "short-answer", "reference": "$.target[*]"}


@dataclass(frozen=True)
class LabelledStep:
    """One step: its label, its facts, and the outcome of its trace."""

    trace: str
    query: str
    position: int
    human: int
    last: bool
    message: bool
    facts: tuple[Fact, ...]
    outcome: int | None
    """1 pass, 0 fail, null when the check cannot tell."""


def read_steps(data: Path) -> list[LabelledStep]:
    """Every labelled step, in the order of `recorded`."""
    rows = [json.loads(line) for line in (data / "hotpotqa.jsonl").read_text().splitlines()]
    human = read_recorded(data / "hotpotqa.jsonl")
    traces = [trace for row in rows for trace in agent_process_bench.read(row, Origin())]
    outcomes = anyio.run(
        _outcomes, [(trace.final_output or "", row["ground_truth"]) for trace, row in zip(traces, rows, strict=True)]
    )
    made = {
        (trace.trace_id, step.extra["message_index"]): (step, found, step is trace.steps[-1], outcome)
        for trace, outcome in zip(traces, outcomes, strict=True)
        for step, found in zip(trace.steps, facts(trace), strict=True)
    }
    steps: list[LabelledStep] = []
    for each in paired(human, human):
        step, found, last, outcome = made[each.trace_id, each.place]
        steps.append(
            LabelledStep(each.trace_id, each.task_id, each.position, each.human, last, not step.calls, found, outcome)
        )
    return steps


def recorded(data: Path, name: str, dataset: str = "hotpotqa") -> tuple[PairedStep, ...]:
    """One judge's answers beside the labels."""
    human = read_recorded(data / f"{dataset}_labels.jsonl")
    return paired(human, read_recorded(data / "judges" / name / f"{dataset}.jsonl"))


def judge_names(data: Path) -> list[str]:
    return sorted(folder.name for folder in (data / "judges").iterdir() if folder.is_dir())


def given(steps: tuple[PairedStep, ...]) -> np.ndarray:
    """The judge's labels; 9 where it has none, which is never right."""
    return np.array([9 if step.judge is None else step.judge for step in steps])


async def _outcomes(answers: list[tuple[str, dict]]) -> list[int | None]:
    check = read_check(dict(CHECK))
    found = [await run_checks([check], Scene(final_output=text, reference=truth)) for text, truth in answers]
    return [{"pass": 1, "fail": 0, "error": None}[result.outcome] for (result,) in found]
