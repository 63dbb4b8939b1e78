"""stepjudge embedded, with facts, prompts, grounding, cache and ledger; the rubric asks one criterion, as peers do."""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.remove(str(Path(__file__).parent))  # this file has the name of the package
from stepjudge.client import AsyncJudgeClient
from stepjudge.errors import StepjudgeError
from stepjudge.rubric import Rubric
from stepjudge.rubric_file import read_rubric_file, shipped

sys.path.append(str(Path(__file__).parent))
import case


async def main() -> None:
    whole = read_rubric_file(shipped() / "step" / "1.0.0.yaml")
    useful = [each.model_dump() | {"implies": ()} for each in whole.criteria if each.name == "useful"]
    rubric = Rubric.model_validate(
        {**whole.model_dump(), "name": "useful", "criteria": useful, "scoring": {"passes": ("useful",)}}
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = {"judge": "openai/fake", "api_base": case.BASE_URL, "max_cost_usd": None}
        async with AsyncJudgeClient.embedded(data_dir=Path(folder), **settings) as client:

            async def judge(number: int) -> bool:
                said = [
                    {"role": "user", "content": case.text(number)},
                    {"role": "assistant", "content": f"Answer {number}."},
                ]
                try:
                    return (await client.score({"messages": said}, rubric=rubric)).undetermined == 0
                except StepjudgeError:
                    return False

            await judge(-1)
            wall, cpu = time.perf_counter(), time.process_time()
            ok = sum(await asyncio.gather(*map(judge, range(case.COUNT))))
            case.told("stepjudge", time.perf_counter() - wall, time.process_time() - cpu, ok)


asyncio.run(main())
