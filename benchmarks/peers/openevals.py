"""openevals' asynchronous LLM-as-judge over langchain's ChatOpenAI."""

import sys
from pathlib import Path

sys.path.remove(str(Path(__file__).parent))  # this file has the name of the package
from langchain_openai import ChatOpenAI
from openevals.llm import create_async_llm_as_judge

sys.path.append(str(Path(__file__).parent))
import case

evaluator = create_async_llm_as_judge(
    prompt="{inputs}\n{outputs}\n" + case.QUESTION,
    feedback_key="useful",
    judge=ChatOpenAI(model="gpt-4o", base_url=case.BASE_URL, api_key=case.KEY),
)


async def judge(text: str) -> bool:
    found = await evaluator(inputs=text, outputs="view /pump/start.py")
    return found["score"] is not None


case.run("openevals", judge)
