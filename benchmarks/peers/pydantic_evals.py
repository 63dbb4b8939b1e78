"""pydantic-evals' LLMJudge over a dataset."""

import asyncio
import sys
import time
from pathlib import Path

sys.path.remove(str(Path(__file__).parent))  # this file has the name of the package
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import LLMJudge

sys.path.append(str(Path(__file__).parent))
import case


async def task(text: str) -> str:
    return "view /pump/start.py"


async def main() -> None:
    model = OpenAIChatModel("fake", provider=OpenAIProvider(base_url=case.BASE_URL, api_key=case.KEY))
    cases = [Case(name=str(number), inputs=case.text(number)) for number in range(case.COUNT)]
    dataset = Dataset(
        name="peers", cases=cases, evaluators=[LLMJudge(rubric=case.QUESTION, include_input=True, model=model)]
    )
    wall, cpu = time.perf_counter(), time.process_time()
    report = await dataset.evaluate(task, max_concurrency=case.AT_ONCE, progress=False)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    case.told("pydantic-evals", wall, cpu, sum(bool(each.assertions) for each in report.cases))


asyncio.run(main())
