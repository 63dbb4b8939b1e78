"""A config file holds settings by name, as YAML, TOML or JSON. What stands there in the environment too gives way."""

import json
import tomllib
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

import yaml

_LONGEST = 2**20


class BadConfigFile(ValueError):
    """The file cannot be read, or holds what is no setting."""


def read_config(path: Path, known: Sequence[str]) -> dict[str, Any]:
    """The settings in the file. Raises BadConfigFile, with the name that was probably meant for one that is not known."""
    settings = _read(path)
    for name in settings:
        if name not in known:
            close = get_close_matches(str(name).lower(), known, n=1)
            meant = f": is {close[0]!r} meant?" if close else ""
            raise BadConfigFile(f"{path}: {str(name)[:100]!r} is no setting of stepjudge{meant}")
    return settings


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
        if len(raw) > _LONGEST:
            raise BadConfigFile(f"{path}: a file of settings has up to {_LONGEST} bytes")
        parsed = _parsed(raw.decode(), path.suffix.lower())
    except OSError as error:
        raise BadConfigFile(f"{path}: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        at = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise BadConfigFile(f"{path}{at}: {error.problem}") from None  # its text quotes the file, and so perhaps a key
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        if isinstance(error, BadConfigFile):
            raise
        raise BadConfigFile(f"{path}: not a {path.suffix} file: {type(error).__name__}") from None
    if not isinstance(parsed, dict):
        raise BadConfigFile(f"{path}: a mapping of settings by name was expected")
    return cast("dict[str, Any]", parsed)


def _parsed(text: str, suffix: str) -> object:
    match suffix:
        case ".yaml" | ".yml":
            return yaml.safe_load(text) or {}
        case ".toml":
            return tomllib.loads(text)
        case ".json":
            return json.loads(text)
        case _:
            raise BadConfigFile(f"a file of settings ends in .yaml, .toml or .json, not {suffix!r}")
