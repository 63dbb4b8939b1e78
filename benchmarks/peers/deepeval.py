"""deepeval's GEval with evaluation steps."""

import sys
from pathlib import Path

sys.path.remove(str(Path(__file__).parent))  # this file has the name of the package
from deepeval.metrics import GEval
from deepeval.models import GPTModel
from deepeval.test_case import LLMTestCase, SingleTurnParams

sys.path.append(str(Path(__file__).parent))
import case

model = GPTModel(model="gpt-4o", base_url=case.BASE_URL, api_key=case.KEY)


async def judge(text: str) -> bool:
    metric = GEval(
        name="useful",
        evaluation_steps=[case.QUESTION],
        evaluation_params=[SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT],
        model=model,
    )
    await metric.a_measure(LLMTestCase(input=text, actual_output="view /pump/start.py"), _show_indicator=False)
    return metric.score is not None


case.run("deepeval", judge)
