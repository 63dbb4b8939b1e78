"""A hosted run is one script in a host's interpreter, against a judged service and one whose judge is dead."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hosts
from documented import block
from judged import Judged, documents, judged

CONCURRENCY = 4
"""Of the judged service: what the host may not exceed, however much it asks at once."""


EXAMPLE = """
import contextlib, io, os, runpy
os.environ["STEPJUDGE_URL"] = url
with contextlib.redirect_stdout(io.StringIO()) as printed:
    runpy.run_path("example.py", run_name="__main__")
print(json.dumps({"said": said, "example": printed.getvalue()}))
"""
"""Runs the page's example after the script: to import such a host takes longer than all that a test asks of it."""


@dataclass(frozen=True)
class Hosted:
    """What the host said in the end, and the service it asked."""

    said: Any
    """What the script left in the variable of that name, as JSON."""
    example: str
    """What the documented example printed in the same process, asking the same service."""
    service: Judged


@contextmanager
def hosted(host: str, script: str, page: str, folder: Path) -> Generator[Hosted]:
    """The script gets the URLs of the two services as arguments, and the documents in `documents.json`; it sets `said`."""
    (folder / "example.py").write_text(block(page))
    (folder / "documents.json").write_text(json.dumps(documents()))
    with (
        judged(folder / "service", concurrency=CONCURRENCY, latency=0.05) as service,
        judged(folder / "dead", provider_is_up=False) as dead,
    ):
        ended = hosts.run_json(host, script + EXAMPLE, service.url, dead.url, folder=folder)
        yield Hosted(ended["said"], ended["example"], service)
