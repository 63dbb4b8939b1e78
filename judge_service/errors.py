"""Requests that the service refuses. Each has a status and a title that are part of the contract.

JudgeError
├── UnreadableDocument  422  the trace cannot be read
├── RefusedRubric       422  the rubric in the request is not well formed
├── BadSteps            422  the range of steps selects nothing
├── TraceTooLong        413  more steps than the service takes
├── UnknownRubric       404
├── UnknownJudge        404
├── UnknownVerdict      404
├── UnknownStep         404
├── RefusedLabel        422  the label names another that it cannot replace or settle
├── LabelConflict       409  a label of that id is stored with other content
├── AgreementUnavailable 501 the statistics are not installed
├── LedgerUnavailable   503  a verdict cannot be stored, so it is not given
├── JudgeFailed         503  there are no numbers, because the judge's model could not be had
├── NothingScored       422  there are no numbers, because nothing that counts could be determined
├── BatchFailed         502  a provider did not take a batch, or did not give it back
├── TooManyRequests     429  the key has reached one of its limits
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


class UnknownStep(JudgeError):
    """No step of that digest at that state."""

    status = 404
    title = "Unknown step"


class RefusedLabel(JudgeError):
    """The label names another that is not there, or that it cannot replace or settle."""

    status = 422
    title = "Bad label"


class LabelConflict(JudgeError):
    """A label with that id is stored with other content."""

    status = 409
    title = "Label conflict"


class AgreementUnavailable(JudgeError):
    """What agreement is computed with is not installed here."""

    status = 501
    title = "Agreement unavailable"


class LedgerUnavailable(JudgeError):
    """The permanent record cannot be read or written."""

    status = 503
    title = "Ledger unavailable"


class JudgeFailed(JudgeError):
    """Numbers were asked for, and the judge's model could not be had. It may be at the next attempt."""

    status = 503
    title = "Judge failed"


class NothingScored(JudgeError):
    """Numbers were asked for, and nothing that counts could be determined."""

    status = 422
    title = "Nothing scored"


class BatchFailed(JudgeError):
    """A provider did not take a batch of questions, or did not tell what became of it. Nothing is lost."""

    status = 502
    title = "Batch failed"


class TooManyRequests(JudgeError):
    """The key has reached one of its limits."""

    status = 429
    title = "Too many requests"

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unauthorized(JudgeError):
    """The request carries no key that the service knows."""

    status = 401
    title = "Unauthorized"


class Forbidden(JudgeError):
    """The key lacks the scope."""

    status = 403
    title = "Forbidden"
