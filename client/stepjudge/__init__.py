"""stepjudge scores every step of an agent trace: `from stepjudge import JudgeClient, read_file`."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepjudge.adapters.assertion import assert_steps
    from stepjudge.client import AsyncJudgeClient, JudgeClient
    from stepjudge.contract import Scorecard, StepScore
    from stepjudge.errors import JudgeRefused, JudgeUnreachable, StepjudgeError, UnreadableTrace
    from stepjudge.formats import read_document, read_file
    from stepjudge.rubric import Rubric
    from stepjudge.rubric_file import read_rubric_file
    from stepjudge.trace import Trace

__all__ = [
    "AsyncJudgeClient",
    "JudgeClient",
    "JudgeRefused",
    "JudgeUnreachable",
    "Rubric",
    "Scorecard",
    "StepScore",
    "StepjudgeError",
    "Trace",
    "UnreadableTrace",
    "assert_steps",
    "read_document",
    "read_file",
    "read_rubric_file",
]

_HOMES = {
    "adapters.assertion": ("assert_steps",),
    "client": ("AsyncJudgeClient", "JudgeClient"),
    "contract": ("Scorecard", "StepScore"),
    "errors": ("JudgeRefused", "JudgeUnreachable", "StepjudgeError", "UnreadableTrace"),
    "formats": ("read_document", "read_file"),
    "rubric": ("Rubric",),
    "rubric_file": ("read_rubric_file",),
    "trace": ("Trace",),
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: `import stepjudge` alone costs next to nothing."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"stepjudge.{module}"), name)
    raise AttributeError(f"module 'stepjudge' has no attribute {name!r}")
