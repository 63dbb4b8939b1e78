"""A command run in this process, with the command line's own parser, over an embedded service."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from stepjudge.cli.main import stepjudge
from stepjudge.trace import Trace


class Commands:
    """The command line over one data folder, without any setting of the machine."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    def run(self, *arguments: object, status: int = 0) -> str:
        done = self._run(*arguments)
        assert done.exit_code == status, f"{done.output}{done.stderr}{done.exception!r}"
        return done.stdout

    def json(self, *arguments: object, status: int = 0) -> dict[str, Any]:
        return json.loads(self.run(*arguments, "--json", status=status))

    def _run(self, *arguments: object) -> Result:
        settings = {"STEPJUDGE_DATA_DIR": str(self._data_dir), "COLUMNS": "200"}
        unset = dict.fromkeys(("STEPJUDGE_URL", "STEPJUDGE_JUDGE", "STEPJUDGE_MAX_COST_USD"))
        return CliRunner(env={**settings, **unset}).invoke(stepjudge, [*map(str, arguments)])


def written(path: Path, *traces: Trace) -> Path:
    """A file of traces, one per line."""
    path.write_text("".join(f"{trace.model_dump_json(exclude_defaults=True)}\n" for trace in traces), encoding="utf-8")
    return path
