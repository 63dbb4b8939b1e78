"""A secret is a value that lets somebody in. It is cut out of whatever a provider or a library says."""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus, urlsplit

_SHORTEST = 6
"""Shorter values are words such as `none` or `test`; cutting them would hide what happened."""

_HOLDER = re.compile(r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|JWT)$", re.IGNORECASE)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)

_LOOKS_SECRET = (
    (re.compile(r"(://)[^/\s@'\"]+@"), r"\1…@"),
    (re.compile(r"\b(Bearer|Basic)[\s:]+[A-Za-z0-9._~+/=*-]{6,}", re.IGNORECASE), r"\1 …"),
    (re.compile(r"\b(sk|key|pk|gsk|xai|hf|ghp|github_pat|glpat|AKIA|AIza)[-_ ]?[A-Za-z0-9*_-]{12,}"), r"\1…"),
    (re.compile(r"\b(sk|key)[-_][A-Za-z0-9*_-]{6,}"), r"\1-…"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*)*"), "…"),
    (
        re.compile(
            r"((?<![A-Za-z])(?:api[-_ ]?key|token|secret|password|authorization|key)[\"']?\s*[:=]\s*[\"']?)"
            r"[^\s\"'&,;{}]{6,}",
            re.IGNORECASE,
        ),
        r"\1…",
    ),
)


def secrets(api_key: str | None, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The secrets that this process holds, in every form in which they may come back, longest first."""
    held = {api_key} if api_key else set[str]()
    for name, value in environ.items():
        if _HOLDER.search(name):
            held.add(value.strip())
        elif _ADDRESS.fullmatch(value):
            held |= _in_address(value)
    forms = {form for secret in held if len(secret) >= _SHORTEST for form in _forms(secret)}
    return tuple(sorted(forms, key=len, reverse=True))


def without_secrets(text: str, known: Iterable[str]) -> str:
    """The text without these, and without what looks like one: providers like to echo the key they turned down."""
    for secret in known:
        text = text.replace(secret, "…")
    for pattern, instead in _LOOKS_SECRET:
        text = pattern.sub(instead, text)
    return text


def _in_address(address: str) -> set[str]:
    parts = urlsplit(address)
    login = parts.netloc.rpartition("@")[0]
    return {login, login.partition(":")[2], *(pair.partition("=")[2] for pair in parts.query.split("&"))}


def _forms(secret: str) -> tuple[str, ...]:
    logins = (secret, f":{secret}", f"{secret}:")
    encoded = [base64.b64encode(each.encode()).decode() for each in logins]
    return (
        secret,
        quote(secret, safe=""),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        repr(secret)[1:-1],
        *encoded,
        *(each.rstrip("=") for each in encoded),
        *(each.translate(str.maketrans("+/", "-_")) for each in encoded),
    )
