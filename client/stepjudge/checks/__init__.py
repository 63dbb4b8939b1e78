"""Checks test what an attempt left behind: one module each, found by itself, read from a document by its `kind`."""

from stepjudge.checks.check import BadCheck, CannotCheck, Check, CheckEvidence, CheckResult, Finding, Scene
from stepjudge.checks.running.registry import kinds, read_check
from stepjudge.checks.running.run import names, run_checks

__all__ = [
    "BadCheck",
    "CannotCheck",
    "Check",
    "CheckEvidence",
    "CheckResult",
    "Finding",
    "Scene",
    "kinds",
    "names",
    "read_check",
    "run_checks",
]
