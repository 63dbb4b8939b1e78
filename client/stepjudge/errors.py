"""Errors of the library.

StepjudgeError
├── UnreadableTrace     the document is no trace we can read: what, where, and how to mend it
├── BadRubric           the rubric is not well formed: file, line, and how to mend it
├── BadRange            the range of steps is malformed or empty
├── JudgeUnreachable    the service gave no answer
├── JudgeRefused        the service answered with a problem; carries it
└── NotScored           a metric has no usable score for a trace: why, and what is known all the same
"""

from typing import Literal

from stepjudge.value import JsonObject, Value

NotScoredReason = Literal[
    "unreachable",  # the service gave no answer
    "refused",  # the service declined
    "unreadable",  # what was to be scored is no trace
    "judge_failed",  # the judge's model could not be had, or was too dear
    "undetermined",  # nothing that counts could be determined
    "nothing_to_score",  # the score does not apply to the trace, such as a recovery rate without a setback
]


class StepjudgeError(Exception):
    """Root of all errors that a caller may expect."""


class UnreadableTrace(StepjudgeError):
    """The document is no trace we can read."""


class BadRubric(StepjudgeError):
    """The rubric is not well formed."""


class BadRange(StepjudgeError):
    """The range of steps is malformed or holds no step."""


class Problem(Value):
    """What every error answer of the service holds (RFC 9457, `application/problem+json`)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = ""
    errors: tuple[JsonObject, ...] = ()
    """For a request that does not validate: where and why, one entry per fault."""


class JudgeUnreachable(StepjudgeError):
    """The service gave no answer: nothing listens there, the connection broke, or time ran out."""


class JudgeRefused(StepjudgeError):
    """The service answered with a problem. One is made up when a proxy answered in its place."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.title}: {problem.detail}" if problem.detail else problem.title)
        self.problem = problem


class NotScored(StepjudgeError):
    """There is no usable score for a trace: never a score of 0.

    `reason` is for machines, the message for people; `metadata` is the reading's JSON as far as there is one.
    """

    def __init__(self, reason: NotScoredReason, message: str, metadata: JsonObject | None = None) -> None:
        super().__init__(message)
        self.reason: NotScoredReason = reason
        self.metadata: JsonObject = metadata or {}

    def __reduce__(self) -> tuple[type["NotScored"], tuple[NotScoredReason, str, JsonObject]]:
        return NotScored, (self.reason, str(self), self.metadata)
