"""An enclosure is a folder that nothing named inside it may lead out of: not by `..`, an absolute path, or a link."""

from pathlib import Path


def leads_out(folder: Path, path: Path) -> bool:
    """Whether the path, all its links followed, ends outside of the folder."""
    try:
        return not path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a name that no file system takes
        return True
