"""What is installed: every package by its hash, from no named index, and none that is known to be bad."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))

KNOWN_BAD = {
    "litellm": ("1.82.7", "1.82.8", "1.107.0"),
    "ultralytics": ("8.3.41", "8.3.42", "8.3.45", "8.3.46"),
    "num2words": ("0.5.15", "0.5.16"),
    "ctx": ("0.1.2", "0.2.2", "0.2.6"),
}
"""Uploads that carried malware. pip-audit knows of weak ones; this holds without a network."""


def entries(lock: Path) -> list[str]:
    """Each requirement on one line, with its hashes."""
    joined = lock.read_text().replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines() if line.strip() and not line.strip().startswith("#")]


def test_there_are_locks() -> None:
    assert {lock.name for lock in LOCKS} >= {"dev.lock", "service.lock"}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_holds_exact_versions_with_hashes_and_names_no_place(lock: Path) -> None:
    wrong = [
        line
        for line in entries(lock)
        if not re.fullmatch(r"[A-Za-z0-9._-]+(\[[^]]*\])?==\S+( *; [^\\]*?)?( +--hash=sha256:[0-9a-f]{64})+", line)
    ]
    assert wrong == []
    assert "://" not in lock.read_text()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_no_known_bad_version_is_locked(lock: Path) -> None:
    locked = {line.split("==")[0].split("[")[0].lower(): line.split("==")[1].split()[0] for line in entries(lock)}
    assert {name: locked[name] for name, bad in KNOWN_BAD.items() if locked.get(name) in bad} == {}


def test_every_requirement_on_litellm_excludes_its_bad_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    found = [each for each in map(Requirement, named) if each.name == "litellm"]
    assert found
    for each in found:
        specifier = each.specifier
        assert [version for version in KNOWN_BAD["litellm"] if Version(version) in specifier] == []
