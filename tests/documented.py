"""A documented example is a fenced block of a page in docs/, run as it stands there."""

import re
from pathlib import Path

import hosts

DOCS = Path(__file__).parents[1] / "docs"


def block(page: str, language: str = "python", number: int = 1) -> str:
    """The page's n-th block of that language, from 1: `block("adapters/deepeval.md")`."""
    text = (DOCS / page).read_text()
    found = re.findall(rf"^```{re.escape(language)}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(found) >= number, f"{page} has {len(found)} blocks of {language}"
    return found[number - 1]


def run_page(page: str, host: str, *, url: str, folder: Path, number: int = 1, **environment: str) -> str:
    """What the page's python block prints in the host's interpreter, with `STEPJUDGE_URL` at `url`.

    It runs as `example.py` in the folder, where the page's `trace.json` may lie.
    """
    (folder / "example.py").write_text(block(page, number=number))
    script = "import runpy; runpy.run_path('example.py', run_name='__main__')"
    return hosts.run(host, script, folder=folder, STEPJUDGE_URL=url, **environment)
