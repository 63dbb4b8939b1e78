"""An address is where a service is and the key for it, checked before anything is sent; messages tell neither key nor password."""

import httpx2

from stepjudge.errors import JudgeUnreachable
from stepjudge.visible import visible


def address(url: str) -> httpx2.URL:
    """The address of a service. Raises JudgeUnreachable when it can be none."""
    try:
        found = httpx2.URL(url)
        fault = _fault(found)
    except (httpx2.InvalidURL, UnicodeError, TypeError, ValueError):
        fault = "it cannot be read"
    else:
        if fault is None:
            return found
    # not quoted: what cannot be taken apart cannot be freed of its password either
    raise JudgeUnreachable(
        f"the url is no address of a service: {fault}; write it like http://127.0.0.1:8262"
    ) from None


def place(url: httpx2.URL) -> str:
    """The address as messages may show it: without user and password."""
    return visible(str(url.copy_with(userinfo=b"", query=None, fragment=None))).rstrip("/")


def service_key(key: str | None) -> str | None:
    """The key as a header takes it, None when there is none. Raises JudgeUnreachable, without telling the key."""
    kept = (key or "").strip()  # one read from a file ends in a newline
    if not (kept.isascii() and kept.isprintable()):
        raise JudgeUnreachable(
            "the key of the service holds a character that no header can carry: write printable ASCII only"
        )
    return kept or None


def redirect(response: httpx2.Response) -> JudgeUnreachable:
    """What to say of a service that has moved. It is not followed: the key would go along."""
    here, path = response.request.url, response.request.url.path
    try:
        there = here.join(response.headers["location"])
    except (httpx2.InvalidURL, UnicodeError, ValueError):
        return JudgeUnreachable(f"{place(here)} answers with a redirect to what is no address")
    shared = _shared_end(path, there.path)
    target = place(there.copy_with(path=there.path[: len(there.path) - len(shared)] or "/"))
    return JudgeUnreachable(f"{place(here)} answers with a redirect to {target}: use that address")


def _fault(url: httpx2.URL) -> str | None:
    if url.scheme not in ("http", "https"):
        return "it begins with neither http:// nor https://"
    if not url.host:
        return "it names no host"
    return None if (url.port or 0) < 2**16 else "there is no port above 65535"


def _shared_end(asked: str, answered: str) -> str:
    """The path of the request that a redirect repeats: `/v1/…`."""
    end = asked[asked.rfind("/v1/") :] if "/v1/" in asked else ""
    return end if end and answered.endswith(end) else ""
