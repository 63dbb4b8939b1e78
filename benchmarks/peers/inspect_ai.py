"""inspect_ai's model_graded_qa over samples whose output is there already."""

import sys
import time
from pathlib import Path

sys.path.remove(str(Path(__file__).parent))  # this file has the name of the package
import inspect_ai
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa
from inspect_ai.solver import Generate, TaskState, solver

sys.path.append(str(Path(__file__).parent))
import case


@solver
def ready():
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("mockllm", "view /pump/start.py")
        return state

    return solve


grader = get_model(
    "openai/fake", base_url=case.BASE_URL, api_key=case.KEY, config=GenerateConfig(max_connections=case.AT_ONCE)
)
samples = [Sample(input=case.text(number), target=case.QUESTION) for number in range(case.COUNT)]
task = Task(dataset=MemoryDataset(samples), solver=ready(), scorer=model_graded_qa(model=grader))
wall, cpu = time.perf_counter(), time.process_time()
(log,) = inspect_ai.eval(
    task, model="mockllm/model", max_samples=case.AT_ONCE, display="none", log_dir="logs", fail_on_error=False
)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
ok = sum(
    any(score.value in ("C", "I", 1.0, 0.0) for score in (sample.scores or {}).values()) for sample in log.samples or ()
)
case.told("inspect-ai", wall, cpu, ok)
