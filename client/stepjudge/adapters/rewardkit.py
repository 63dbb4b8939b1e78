# pyright: basic
"""Harbor's rewardkit: the steps of a trajectory as a criterion in a Python file, or as the judge that a TOML file names.

What cannot be scored raises. Then rewardkit writes no reward, and the trial counts in no metric of Harbor's.
"""

import json
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Unpack

from stepjudge.adapters.harbor import TRAJECTORY
from stepjudge.adapters.metric import MetricOptions, StepMetric
from stepjudge.adapters.reading import SCORE_NAMES, ScoreName
from stepjudge.errors import NotScored


def step_criterion(
    *,
    trajectory: str | Path = TRAJECTORY,
    weight: float = 1.0,
    name: str | None = None,
    **options: Unpack[MetricOptions],
) -> None:
    """Add a criterion to the file that calls this, named as its score is. `options` are those of StepMetric."""
    metric = StepMetric(**options)
    _criterion()(metric.headline, trajectory, metric, weight=weight, name=name or metric.headline)


def register_judge(**options: Unpack[MetricOptions]) -> None:
    """Let TOML files say `judge = "stepjudge"`, with criteria that are named as scores are, and numeric.

    Call it in a Python file beside them: rewardkit runs those first. The judge's `model` is a judge of the service.
    """
    agents = import_module("rewardkit.agents")

    class StepJudge(agents.AgentBackend):
        name = "stepjudge"

        async def run(self, prompt: str, schema: dict[str, Any], label: str) -> Any:
            del prompt, schema, label  # made for models: what is asked for is picked from all that is answered
            asked: MetricOptions = {"timeout_s": self.judge.timeout, **options}
            if self.judge.model:
                asked["judge"] = self.judge.model
            try:
                reading = await StepMetric(**asked).ascore(Path(self.judge.atif_trajectory or TRAJECTORY))
            except NotScored as error:
                return agents.AgentAttempt(error=error)
            answers = {
                each: {"score": value, "reasoning": reading.explanation}
                for each in SCORE_NAMES
                if (value := reading.scores[each]) is not None
            }
            # a fence within a quote would be taken for the beginning of the answer
            return agents.AgentAttempt(output=json.dumps(answers).replace("`", "\\u0060"))

    agents.register_agent(StepJudge)


@cache
def _criterion() -> Any:
    kit = import_module("rewardkit")

    @kit.criterion(description="{score} of the agent's steps", shared=True)
    def stepjudge(workspace: Path, score: ScoreName, trajectory: str | Path, metric: StepMetric) -> dict[str, Any]:
        del workspace, score
        reading = metric.score(Path(trajectory))
        return {"score": reading.value, "reasoning": reading.explanation, "model": reading.judge}

    return kit.stepjudge
