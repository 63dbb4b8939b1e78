"""A provider's error tells whether it may pass, what it means for the answer, and whether money may have gone.

litellm wraps errors many times over and gives a status of 500 to what never left this machine, so the whole chain is
read. Nothing here imports it.
"""
# pyright: basic

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from json import JSONDecodeError

from judge_service.secret import without_secrets
from stepjudge.verdict import Cause

_TRANSIENT = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_GATEWAY_GAVE_UP = {504, 524}
_TOO_MUCH = {429, 503, 529}
_NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "ClientConnectorError", "ConnectionRefusedError")
_TRANSPORT = ("TransportError", "APIConnectionError", "ClientError", "ConnectionError", "TimeoutError")
_UNREADABLE = (
    "JSONDecodeError",
    "KeyError",
    "IndexError",
    "AttributeError",
    "TypeError",
    "APIResponseValidationError",
    "UnreadableAnswer",
)
_LONGEST = 1_000

_TRACEBACK = re.compile(r"\s*(\||\n)?\s*Traceback \(most recent call last\).*", re.DOTALL)
_PATH = re.compile(
    r"(?:/|\b[A-Za-z]:\\)[^\s\"':,]*(?:site-packages|\.py\b)[^\s\"':,]*"
    r"|(?<![\w:/.])/(?:home|root|usr|opt|tmp|var|etc|srv|app|mnt|private|Users)/[^\s\"':,]+"
)


def transient(error: BaseException) -> bool:
    """Whether trying again may help."""
    if "insufficient_quota" in codes(error):
        return False  # a 429 that no waiting mends
    if _named(error, *_TRANSPORT):
        return True
    return not _never_left(error) and (_status(error) in _TRANSIENT or _named(error, *_UNREADABLE))


def overloaded(error: BaseException) -> bool:
    """Whether the provider said that it is asked too much at once, or gave no answer in time."""
    if "insufficient_quota" in codes(error):
        return False
    return _status(error) in _TOO_MUCH or (_named(error, "TimeoutError", "Timeout") and not _named(error, *_NEVER_SENT))


def sign_of_life(error: BaseException) -> bool | None:
    """Whether the provider answered as one that is up does; null when it cannot be told, or nobody was asked."""
    status = _status(error)
    if status is not None and _answered(error):
        return status < 500
    return False if _named(error, *_TRANSPORT) else None


def cause(error: BaseException) -> Cause:
    if _named(error, "ContextWindowExceededError") or "context_length_exceeded" in codes(error):
        return "context_too_long"
    if _named(error, "ContentPolicyViolationError") or "content_filter" in codes(error):
        return "content_filter"
    return "provider" if transient(error) else "rejected"


def perhaps_billed(error: BaseException) -> bool:
    """Whether the provider may have done the work, and charged for it, although its reply never came."""
    if _named(error, *_NEVER_SENT) or _never_left(error):
        return False
    if _answered(error):
        return _status(error) in _GATEWAY_GAVE_UP
    return _named(error, *_TRANSPORT, *_UNREADABLE)


def words(error: BaseException, secrets: Iterable[str]) -> str:
    """What went wrong, for a reason that others will read: no traceback, no path of this machine, no secret."""
    if isinstance(error, TimeoutError):
        return "the provider gave no answer in time"
    said = without_secrets(_TRACEBACK.sub("", str(error)), secrets)
    return " ".join(_PATH.sub("…", said).split())[:_LONGEST] or type(error).__name__


def codes(error: BaseException) -> tuple[str, ...]:
    """The provider's own words for the kind of error, which litellm does not always turn into a class."""
    body = getattr(error, "body", None)
    fields = body if isinstance(body, dict) else {}
    return tuple(
        str(value) for value in (fields.get("code"), fields.get("type"), getattr(error, "code", None)) if value
    )


def retry_after(error: BaseException | None) -> float | None:
    """Seconds that the provider asks us to wait, from `retry-after-ms` or either form of `retry-after`."""
    told = headers(error)
    if milliseconds := told.get("retry-after-ms"):
        return _number(milliseconds, 0.001)
    if not (after := told.get("retry-after")):
        return None
    seconds = _number(after, 1)
    if seconds is not None:
        return seconds
    try:
        return max(0.0, (parsedate_to_datetime(after) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def headers(error: BaseException | None) -> dict[str, str]:
    """The headers of the answer that the error came with, names in lower case."""
    found = getattr(getattr(error, "response", None), "headers", None) or {}
    return {str(name).lower(): str(value) for name, value in found.items()}


def _answered(error: BaseException) -> bool:
    """Whether the provider's answer with a status is behind this."""
    return any(_class_names(each) & {"HTTPStatusError", "APIStatusError"} for each in _outside_litellm(error))


def _never_left(error: BaseException) -> bool:
    """A setting, a key or a module is missing: litellm says 500, but no provider was asked."""
    *_, root = _chain(error)
    if isinstance(root, JSONDecodeError | UnicodeError) or "ValidationError" in _class_names(root):
        return False
    return isinstance(root, ValueError | ImportError) or (type(root).__name__ == "OpenAIError" and _is_openai(root))


def _is_openai(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] == "openai"


def _outside_litellm(error: BaseException) -> Iterator[BaseException]:
    """litellm's own errors derive from classes that mean an answer, also where none came."""
    return (each for each in _chain(error) if type(each).__module__.partition(".")[0] != "litellm")


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__ or at.__context__


def _named(error: BaseException, *names: str) -> bool:
    """Whether a class of that name is in the chain; litellm's own classes count for the outermost error alone."""
    outside = set().union(*(_class_names(each) for each in _outside_litellm(error)))
    context = {"ContextWindowExceededError", "ContentPolicyViolationError"}
    return bool(set(names) & (outside | (_class_names(error) & context)))


def _class_names(error: BaseException) -> set[str]:
    return {cls.__name__ for cls in type(error).__mro__}


def _status(error: BaseException) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _number(text: str, scale: float) -> float | None:
    try:
        return max(0.0, float(text) * scale)
    except ValueError:
        return None
