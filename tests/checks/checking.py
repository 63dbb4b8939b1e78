"""Running one check from its document, as the tests of checks do."""

from pathlib import Path
from typing import Any

from pydantic import JsonValue

from stepjudge.checks import CheckResult, Scene, read_check, run_checks

ROOT = Path(__file__).parent.parent.parent


async def checked(document: dict[str, Any], root: Path | None = None, **scene: Any) -> CheckResult:
    """The result of the one check."""
    (result,) = await run_checks([read_check(document)], Scene(root=root, **scene))
    return result


async def outcome(document: dict[str, Any], root: Path | None = None, **scene: Any) -> str:
    return (await checked(document, root, **scene)).outcome


def written(root: Path, **files: str | bytes) -> Path:
    """The folder, with these files by path."""
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def reference(**parts: JsonValue) -> dict[str, JsonValue]:
    return parts
