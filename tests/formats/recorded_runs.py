"""Our own recordings of one run under many harnesses, and what each reading of them must agree on."""

from formats.shared_traces import TRACES, files
from stepjudge.formats import read_bytes, read_file
from stepjudge.trace import Trace

TOOLS = ("terminal", "file_editor", "terminal", "file_editor", "file_editor", "file_editor", "terminal")


def read_every(folder: str) -> dict[str, list[Trace]]:
    """The traces of every real file of a format, by name, detected and not named; each survives being written."""
    found = {path.name: list(read_file(path)) for path in files(folder)}
    for name, traces in found.items():
        assert [list(read_bytes(trace.model_dump_json().encode())) for trace in traces] == [
            [each] for each in traces
        ], name
    return found


def shape(trace: Trace) -> list[tuple[int, int]]:
    """Turn and number of calls of each step."""
    return [(step.turn, len(step.calls)) for step in trace.steps]


def outcomes(trace: Trace) -> set[tuple[str, bool | None]]:
    return {(call.result.state, call.result.is_error) for _, _, call in trace.calls()}


def is_the_article_run(trace: Trace) -> bool:
    """Eight steps of which the eighth is the end, with the calls of the run that was published."""
    (run,) = read_file(TRACES / "atif" / "5262_article_atif_v1.7.json")
    assert [step.message for step in trace.steps[:7]] == [step.message for step in run.steps[:7]]
    assert [call.arguments for _, _, call in trace.calls()][:6] == [call.arguments for _, _, call in run.calls()][:6]
    assert tuple(call.name for _, _, call in trace.calls())[:7] == TOOLS
    assert (trace.task, len(trace.steps)) == (run.task, 8)
    return True


def is_the_parallel_run(trace: Trace) -> bool:
    """Five steps, the first two of which make two calls at once."""
    assert shape(trace) == [(1, 2), (1, 2), (1, 1), (1, 1), (1, 0)]
    assert [call.name for _, _, call in trace.calls()] == [
        *("terminal", "terminal"),
        *("file_editor", "file_editor"),
        "file_editor",
        "terminal",
    ]
    assert (trace.final_output or "").startswith("`EncodedFile.mode` no longer includes `b`")
    return True
