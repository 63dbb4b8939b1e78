"""Where the real traces lie, which are not part of the project."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
TRACES = ROOT / ".." / "shared" / "data" / "traces"
LABELLED = ROOT / ".." / "shared" / "data" / "agentprocessbench"
WHY = "the shared traces are not on this machine"


def files(*folders: str) -> list[Path]:
    """The real files in the folders; none where the data is absent."""
    return [path for folder in folders for path in sorted((TRACES / folder).glob("*")) if path.is_file()]
