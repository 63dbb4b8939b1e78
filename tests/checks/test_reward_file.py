"""The reward-file check, on the files that a Harbor verifier writes."""

from pathlib import Path
from typing import Any

import pytest

from checks.checking import checked, written


@pytest.mark.parametrize(
    ("files", "fields", "expected"),
    [
        ({"logs/verifier/reward.txt": "1\n"}, {}, "pass"),
        ({"logs/verifier/reward.txt": "0.75\n"}, {}, "fail"),
        ({"logs/verifier/reward.txt": "0.75\n"}, {"minimum": 0.5}, "pass"),
        ({"verifier/reward.json": '{"reward": 1.0}'}, {}, "pass"),
        ({"verifier/reward.json": '{"reward": 0}'}, {}, "fail"),
        ({"reward.json": '{"reward": true}'}, {}, "pass"),
        ({"verifier/reward.json": '{"style": 0.9, "tests": 1}'}, {"key": "tests"}, "pass"),
        ({"verifier/reward.json": '{"style": 0.9, "tests": 1}'}, {"key": "style"}, "fail"),
        ({"verifier/reward.json": '{"style": 0.9}'}, {}, "error"),
        ({"verifier/reward.txt": "0", "verifier/reward.json": '{"reward": 1}'}, {}, "fail"),
        ({"verifier/reward.txt": "0", "verifier/reward.json": '{"tests": 1}'}, {"key": "tests"}, "pass"),
        ({"elsewhere/reward.txt": "1"}, {"folders": ["elsewhere"]}, "pass"),
        ({"elsewhere/reward.txt": "1"}, {}, "error"),
        ({"reward.txt": ""}, {}, "error"),
        ({"reward.txt": "nan"}, {}, "error"),
        ({"reward.txt": "good"}, {}, "error"),
        ({"reward.json": "[1]"}, {}, "error"),
        ({"reward.json": '{"reward": "1"}'}, {}, "error"),
        ({"reward.json": '{"reward": NaN}'}, {}, "error"),
        ({"reward.json": '{"reward": '}, {}, "error"),
    ],
)
async def test_a_reward_passes_from_its_minimum_on(
    tmp_path: Path, files: dict[str, str], fields: dict[str, Any], expected: str
) -> None:
    result = await checked({"kind": "reward-file", **fields}, written(tmp_path, **files))
    assert result.outcome == expected, result
    assert "broke" not in result.reason
