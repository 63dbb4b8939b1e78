"""Writing puts the report beside the run it shows: whole, or not at all."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from stepjudge.bundle import REPORT, Bundle, read_bundle
from stepjudge.report.page import About, report
from stepjudge.whole import write_whole


def write_report(bundle_dir: Path) -> Path:
    """Write report.html of the run in a folder, and say where it is. Raises BadBundle."""
    bundle = read_bundle(bundle_dir)
    page = report(bundle.tasks, bundle.trials, bundle.scores, bundle.summary, about(bundle))
    path = bundle_dir / REPORT
    write_whole(path, page.encode("utf-8", "replace"))
    return path


def about(bundle: Bundle) -> About:
    """What the bundle says of its own making."""
    ours = _object(bundle.metadata.get("stepjudge"))
    suite, target = _object(ours.get("suite")), _object(bundle.metadata.get("target"))
    facts: dict[str, JsonValue] = {
        "run": bundle.run.get("run_id"),
        "suite": " ".join(str(suite[name]) for name in ("name", "version", "digest") if name in suite),
        "target": " ".join(str(target[name]) for name in ("name", "kind", "version") if target.get(name)),
        "judge": _line(ours.get("judge")),
        "rubrics": _line(ours.get("rubrics")),
        "versions": _line(ours.get("versions")),
        "started": bundle.metadata.get("started_at"),
        "finished": bundle.metadata.get("finished_at"),
        "schema of the bundle": bundle.run.get("schema_version"),
    }
    title = suite.get("name") or bundle.run.get("run_id") or bundle_name(bundle)
    return About(str(title), {name: str(fact) for name, fact in facts.items() if fact})


def bundle_name(bundle: Bundle) -> str:
    """What to call a run that does not say its name."""
    return bundle.folder.resolve().name


def _line(value: JsonValue) -> str:
    match value:
        case None:
            return ""
        case dict():
            return ", ".join(f"{name} {_line(item)}" for name, item in value.items() if item not in (None, {}))
        case list():
            return ", ".join(_line(item) for item in value)
        case _:
            return str(value)


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}
