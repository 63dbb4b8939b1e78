"""A file is written whole: it has its old content or its new one, on the disk, whatever happens in between."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast


@contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """A file to write, which takes the place of `path` when the block ends well, and is gone when it does not.

    It has a name that nobody can know: a folder from somebody else may hold a link where a known one would be.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield cast("BinaryIO", file)
            file.flush()
            os.fsync(file.fileno())
        partial.chmod(0o644)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file by this content."""
    with replacing(path) as file:
        file.write(content)
