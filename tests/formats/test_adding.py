"""A format is added by one file: the example in docs/formats.md is one, and works as it stands there."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from formats.shared_traces import ROOT

EVENTS = [
    {"kind": "MyHarnessUser", "text": "fix it"},
    {"kind": "MyHarnessCall", "tool": "look", "args": {"a": 1}, "id": 1, "thought": "hm"},
    {"kind": "MyHarnessResult", "output": "boom", "id": 1, "failed": True},
    {"kind": "Heartbeat"},
]
FOLDERS = """

def unpack(tree):
    names = tree.matching("events/*.json")
    return iter([[tree.document(name) for name in names]]) if names else None


FORMAT = dataclasses.replace(FORMAT, unpack=unpack)
"""
READ = """
import sys
import stepjudge.formats
stepjudge.formats.__path__.append(sys.argv[1])
assert "my-harness" in [each.name for each in stepjudge.formats.formats()]
for trace in stepjudge.formats.read_file(sys.argv[2]):
    (call,) = trace.steps[0].calls
    print(trace.source_format, trace.task, call.name, call.arguments, call.result.text, call.result.is_error, *trace.notes)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with the module of the documentation's example."""
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    (example,) = [block.partition("```")[0] for block in text.split("```python\n") if block.startswith('"""My Harness')]
    module = tmp_path / "package" / "my_harness.py"
    module.parent.mkdir()
    module.write_text(f"{example}\nimport dataclasses\n{FOLDERS}", encoding="utf-8")
    return module.parent


def written(folder: Path, how: str) -> Path:
    path = folder / "run"
    match how:
        case "list":
            path.write_text(json.dumps(EVENTS), encoding="utf-8")
        case "lines":
            path.write_text("\n".join(map(json.dumps, EVENTS)), encoding="utf-8")
        case "folder":
            (path / "events").mkdir(parents=True)
            for number, event in enumerate(EVENTS):
                (path / "events" / f"{number}.json").write_text(json.dumps(event), encoding="utf-8")
        case _:
            with zipfile.ZipFile(path, "w") as archive:
                for number, event in enumerate(EVENTS):
                    archive.writestr(f"events/{number}.json", json.dumps(event))
    return path


@pytest.mark.parametrize("how", ["list", "lines", "folder", "zip"])
def test_a_module_in_the_package_is_a_format(package: Path, tmp_path: Path, how: str):
    command = [sys.executable, "-c", READ, str(package), str(written(tmp_path, how))]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert done.stdout == ("my-harness fix it look {'a': 1} boom True events of the kind 'Heartbeat' were left out\n")


def test_a_document_that_fits_two_formats_equally_is_refused_with_both_names(package: Path, tmp_path: Path):
    example = (package / "my_harness.py").read_text(encoding="utf-8")
    (package / "other.py").write_text(example.replace('"my-harness"', '"other"'), encoding="utf-8")
    command = [sys.executable, "-c", READ, str(package), str(written(tmp_path, "list"))]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert "the document fits my-harness and other equally well: name the right one with --format" in done.stderr
