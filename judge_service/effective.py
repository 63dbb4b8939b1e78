"""The effective configuration: what each setting is, without secrets, and where it came from."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic_settings import EnvSettingsSource

from judge_service.config_file import read_config
from judge_service.secret import secrets, without_secrets
from judge_service.settings import CONFIG_FILE, Settings
from stepjudge.value import JsonObject

HIDDEN = "…"
_SECRET = ("api_key", "sha256", "old_sha256")


@dataclass(frozen=True)
class Effective:
    name: str
    value: Any
    """As JSON; what lets somebody in is `…`."""
    source: str
    """`default`, `environment`, the path of the file, or two of these joined by ` and `."""


def effective(settings: Settings, given: Mapping[str, Any]) -> tuple[Effective, ...]:
    """Every setting, in the order of the documentation. `given` are the keywords that the settings were made with."""
    path = os.environ.get(CONFIG_FILE)
    sources: dict[str, Mapping[str, Any]] = {
        "command line": given,
        "environment": EnvSettingsSource(Settings)(),
        path or "file": read_config(Path(path), tuple(Settings.model_fields)) if path else {},
    }
    shown = without_words(settings)
    return tuple(Effective(name, shown[name], _source(name, sources)) for name in Settings.model_fields)


def without_words(settings: Settings) -> JsonObject:
    """The settings as JSON. Keys, hashes and passwords in addresses are hidden."""
    known = secrets(None, os.environ)
    hidden = cast(JsonObject, _hidden(settings.model_dump(mode="json"), known))
    if settings.cache is not None:
        hidden["cache_url"] = without_secrets(settings.cache, known)
    return hidden


def _hidden(value: Any, known: tuple[str, ...]) -> Any:
    match value:
        case dict():
            pairs = cast("dict[str, Any]", value)
            return {name: HIDDEN if name in _SECRET and each else _hidden(each, known) for name, each in pairs.items()}
        case list():
            return [_hidden(each, known) for each in cast("list[Any]", value)]
        case str():
            return without_secrets(value, known)
        case _:
            return value


def _source(name: str, sources: Mapping[str, Mapping[str, Any]]) -> str:
    """The first source that has it; tables, such as `judges`, are put together from all of them."""
    found = [source for source, values in sources.items() if name in values]
    if not found:
        return "default"
    mapped = [source for source in found if isinstance(sources[source][name], Mapping)]
    return " and ".join(mapped) if len(mapped) > 1 else found[0]
