"""A secret option is one that a host which writes a metric's options into its logs must never be given."""

import re
from collections.abc import Iterator, Mapping
from typing import cast

from pydantic import SecretBytes, SecretStr

_PASSWORD = re.compile(r"://[^/?#]*@")
_NAMES = ("api_key", "api_keys", "cache_url", "password", "secret", "token", "authorization")
"""Ends of names whose values are secrets, or, for `api_keys`, let people in."""


def refuse_secrets(options: Mapping[str, object], keeper: str) -> None:
    """Raises ValueError, which names the option but not its value, for a key, a token, or a url with a password.

    keeper: what would keep it, such as `the log`. Nested settings, such as those of a jury's judges, are looked at too.
    """
    for name in _secrets(options, ""):
        raise ValueError(
            f"{name}: {keeper} would keep it; set it in the environment instead, the service's own key as "
            "STEPJUDGE_CLIENT_KEY, an address with a password as STEPJUDGE_URL, settings of the embedded service as "
            "STEPJUDGE_…"
        )


def _secrets(value: object, place: str) -> Iterator[str]:
    match value:
        case SecretStr() | SecretBytes():
            yield place
        case str() if _PASSWORD.search(value):
            yield place
        case Mapping():
            for key, each in cast("Mapping[object, object]", value).items():
                name = f"{place}.{key}".removeprefix(".")
                if each is not None and _named_secret(str(key)):
                    yield name
                yield from _secrets(each, name)
        case list() | tuple():
            for number, each in enumerate(cast("list[object]", value)):
                yield from _secrets(each, f"{place}[{number}]")
        case _:
            return


def _named_secret(name: str) -> bool:
    return name.lower().replace("-", "_").endswith(_NAMES)
