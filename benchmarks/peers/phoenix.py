"""phoenix-evals' classifier over a data frame, with its limiter opened up: by default it starts at 5 requests a second."""

import asyncio
import sys
import time
from pathlib import Path

sys.path.remove(str(Path(__file__).parent))  # this file has the name of the package
import pandas as pd
from phoenix.evals import LLM, async_evaluate_dataframe, create_classifier

sys.path.append(str(Path(__file__).parent))
import case


async def main() -> None:
    llm = LLM(
        provider="openai",
        model="gpt-4o",
        base_url=case.BASE_URL,
        api_key=case.KEY,
        initial_per_second_request_rate=1_000,
    )
    judge = create_classifier("useful", "{text}\n" + case.QUESTION, llm, choices={"yes": 1.0, "no": 0.0})
    frame = pd.DataFrame({"text": [case.text(number) for number in range(case.COUNT)]})
    wall, cpu = time.perf_counter(), time.process_time()
    out = await async_evaluate_dataframe(frame, [judge], concurrency=case.AT_ONCE, hide_tqdm_bar=True)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    case.told("arize-phoenix-evals", wall, cpu, int(out["useful_score"].notna().sum()))


asyncio.run(main())
