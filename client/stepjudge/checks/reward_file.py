"""The reward-file check: the reward that a Harbor verifier wrote beside the environment, `reward.txt` or `reward.json`."""

import math
from typing import Literal

from pydantic import Field, JsonValue

from stepjudge.checks.check import CannotCheck, Check, CheckEvidence, Finding, Scene
from stepjudge.checks.running.content import Malformed, read_content
from stepjudge.checks.running.root import Inside, Root

MAX_BYTES = 2**20


class RewardFile(Check):
    """One reward. A verifier that wrote none did not judge the attempt: that is an `error`."""

    kind: Literal["reward-file"] = "reward-file"
    folders: tuple[Inside, ...] = Field(default=("logs/verifier", "verifier", "."), min_length=1)
    """Where to look, in order: as in Harbor's container, as in its folder of a trial, and the root itself."""
    key: str = "reward"
    """Which reward of `reward.json`. `reward.txt` holds a single one, which is `reward`."""
    minimum: float = 1
    """The least reward that passes."""

    async def run(self, scene: Scene) -> Finding:
        root = Root.of(scene)
        for folder in self.folders:
            for name, read in (("reward.txt", _text), ("reward.json", _json)):
                path = f"{folder}/{name}"
                if root.kind(path) == "missing":
                    continue
                rewards = read(path, root.read(path, MAX_BYTES).decode("utf-8", "replace"))
                if self.key in rewards:
                    return self._found(path, rewards[self.key])
        raise CannotCheck(f"no reward.txt or reward.json with {self.key!r} is in {', '.join(self.folders)}")

    def _found(self, path: str, reward: JsonValue) -> Finding:
        if isinstance(reward, str | list | dict) or reward is None or not math.isfinite(reward):
            raise CannotCheck(f"{self.key!r} in {path!r} is no number")
        outcome = "pass" if reward >= self.minimum else "fail"
        reason = f"{self.key} is {float(reward):g}, where {self.minimum:g} passes"
        return Finding(outcome=outcome, reason=reason, evidence=(CheckEvidence.of(path, f"{reward}"),))


def _text(path: str, text: str) -> dict[str, JsonValue]:
    try:
        return {"reward": float(text)}
    except ValueError:
        raise CannotCheck(f"{path!r} holds no number") from None


def _json(path: str, text: str) -> dict[str, JsonValue]:
    try:
        rewards = read_content(text, "json")
    except Malformed as error:
        raise CannotCheck(f"{path!r}: {error}") from error
    if not isinstance(rewards, dict):
        raise CannotCheck(f"{path!r} holds no object")
    return rewards
