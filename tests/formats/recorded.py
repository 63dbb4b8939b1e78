"""One run on pytest-dev__pytest-5262, recorded by many harnesses: whatever the format, it is the same steps and calls."""

from pathlib import Path

from formats.shared_traces import TRACES
from stepjudge.formats import read_bytes, read_file
from stepjudge.trace import Trace

ARTICLE = ("terminal", "file_editor", "terminal", "file_editor", "file_editor", "file_editor", "terminal")
PARALLEL = (("terminal", "terminal"), ("file_editor", "file_editor"), ("file_editor",), ("terminal",))


def only(path: Path, name: str) -> Trace:
    """The trace in the file, which is detected as that format and survives writing."""
    (trace,) = read_file(path)
    assert trace.source_format == name, path.name
    assert list(read_bytes(trace.model_dump_json().encode())) == [trace], path.name
    return trace


def names(trace: Trace) -> list[tuple[str, ...]]:
    return [tuple(call.name for call in step.calls) for step in trace.steps]


def errors(trace: Trace) -> list[bool | None]:
    return [call.result.is_error for _, _, call in trace.calls()]


def states(trace: Trace) -> list[str]:
    return [call.result.state for _, _, call in trace.calls()]


def assert_is_the_article(trace: Trace) -> None:
    """The calls of the published run. `finish` is a message elsewhere, and how the edit and the test were written
    differs: their arguments are not compared."""
    (published,) = read_file(TRACES / "atif" / "5262_article_atif_v1.7.json")
    expected = [call.arguments or {} for _, _, call in published.calls()][:5]
    found = [call.arguments or {} for _, _, call in trace.calls()][:5]
    assert [call.name for _, _, call in trace.calls()] == list(ARTICLE)
    for ours, theirs in zip(found, expected, strict=True):
        assert "command" in ours
        shared = ours.keys() & theirs.keys()
        assert {key: ours[key] for key in shared} == {key: theirs[key] for key in shared}
