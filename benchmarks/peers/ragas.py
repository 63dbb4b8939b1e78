"""ragas' DiscreteMetric over the OpenAI SDK."""

import sys
from pathlib import Path

sys.path.remove(str(Path(__file__).parent))  # this file has the name of the package
from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.metrics import DiscreteMetric

sys.path.append(str(Path(__file__).parent))
import case

llm = llm_factory("gpt-4o", client=AsyncOpenAI(base_url=case.BASE_URL, api_key=case.KEY))
metric = DiscreteMetric(name="useful", prompt="{response}\n" + case.QUESTION, allowed_values=["yes", "no"])


async def judge(text: str) -> bool:
    return (await metric.ascore(llm=llm, response=text)).value in ("yes", "no")


case.run("ragas", judge)
