"""Requests that the service refuses. Each has a status and a title that are part of the contract.

JudgeError
├── UnreadableDocument  422  the trace cannot be read
├── RefusedRubric       422  the rubric in the request is not well formed
├── BadSteps            422  the range of steps selects nothing
├── TraceTooLong        413  more steps than the service takes
├── UnknownRubric       404
├── UnknownJudge        404
├── UnknownVerdict      404
├── LedgerUnavailable   503  a verdict cannot be stored, so it is not given
├── Unauthorized        401
└── Forbidden           403
"""

from stepjudge.errors import Problem


class JudgeError(Exception):
    """A request we refuse; the message is the problem's detail."""

    status = 500
    title = "Judge error"

    def problem(self) -> Problem:
        return Problem(title=self.title, status=self.status, detail=str(self))


class UnreadableDocument(JudgeError):
    """The trace cannot be read."""

    status = 422
    title = "Unreadable trace"


class RefusedRubric(JudgeError):
    """The rubric is not well formed, or contradicts a published version."""

    status = 422
    title = "Bad rubric"


class BadSteps(JudgeError):
    """The range of steps is malformed or selects nothing."""

    status = 422
    title = "Bad range of steps"


class TraceTooLong(JudgeError):
    """The trace has more steps than the service takes."""

    status = 413
    title = "Trace too long"


class UnknownRubric(JudgeError):
    """No rubric of that name or version."""

    status = 404
    title = "Unknown rubric"


class UnknownJudge(JudgeError):
    """No judge of that name."""

    status = 404
    title = "Unknown judge"


class UnknownVerdict(JudgeError):
    """No verdict with that id."""

    status = 404
    title = "Unknown verdict"


class LedgerUnavailable(JudgeError):
    """The permanent record cannot be read or written."""

    status = 503
    title = "Ledger unavailable"


class Unauthorized(JudgeError):
    """The request carries no key that the service knows."""

    status = 401
    title = "Unauthorized"


class Forbidden(JudgeError):
    """The key lacks the scope."""

    status = 403
    title = "Forbidden"
