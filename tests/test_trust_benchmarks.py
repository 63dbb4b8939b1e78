"""The benchmarks of correction, calibration, juries and cascades meet their targets on the public labels, where these are."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data" / "agentprocessbench"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the public data are not here")


def printed(name: str, *arguments: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), "--data", str(DATA), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def test_corrected_rates_cover_the_truth_and_whole_traces_break_them() -> None:
    text = printed("correction_simulation", "--resamples", "200")
    rows = re.findall(r"^\| (weak|middle|strong) \| (100|200) \|.*?\| ([^|]+) \| [\d.]+ \|$", text, re.MULTILINE)
    figures = [[float(each) for each in row[2].split("/")] for row in rows[:6]]
    assert all(abs(bias) < 0.01 and coverage > 89 for bias, _, coverage, _ in figures)
    broken = re.findall(r"^\| \w+ \| (?:labels|PPI\+\+) \| [\d.]+ \| [\d.]+ \| ([\d.]+) \|", text, re.MULTILINE)
    assert len(broken) == 6
    assert all(float(coverage) < 85 for coverage in broken)


def test_outcome_and_calibration_reach_their_targets_on_held_out_queries() -> None:
    text = printed("judge_plus_outcome", "--judges", "DeepSeek-V3.2", "--folds", "10", "--no-curves")
    rows = dict(re.findall(r"^\| DeepSeek-V3\.2 \| ([^|]+) \| ([\d.]+) ", text, re.MULTILINE))
    assert float(rows["alone"]) == 74.4
    assert float(rows["+ outcome"]) >= 80
    assert float(rows["+ both"]) >= 82
    assert "no-content control" in text


def test_the_jury_figures_are_those_of_the_study() -> None:
    text = printed("jury_cascade", "--juries", "1200")
    assert "| 9 of 9 | 47.3 | 47 | 93.4 | 93.4 |" in text
    assert not re.findall(r"[\d.]+! \|", text)
    assert "Juries do not beat the best single judge" in text
