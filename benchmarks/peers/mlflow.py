"""mlflow's make_judge, which blocks: in as many threads as there are to be requests at once."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.remove(str(Path(__file__).parent))  # this file has the name of the package
import asyncio

import mlflow.genai

sys.path.append(str(Path(__file__).parent))
import case

os.environ |= {"OPENAI_API_BASE": case.BASE_URL, "OPENAI_BASE_URL": case.BASE_URL, "OPENAI_API_KEY": case.KEY}
useful = mlflow.genai.make_judge(
    name="useful",
    instructions="{{ inputs }} {{ outputs }} " + case.QUESTION + " Answer yes or no.",
    model="openai:/gpt-4o",
)
threads = ThreadPoolExecutor(case.AT_ONCE)


def judged(text: str) -> bool:
    return useful(inputs={"trace": text}, outputs="view /pump/start.py").value is not None


async def judge(text: str) -> bool:
    return await asyncio.get_running_loop().run_in_executor(threads, judged, text)


case.run("mlflow", judge)
