import json
from collections.abc import Iterator
from pathlib import Path

import atif
import pytest
from pydantic import JsonValue

from formats.shared_traces import LABELLED, TRACES, WHY, files
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import formats, read_bytes, read_file
from stepjudge.trace import Trace

NASTY = [path for path in files("nasty_files") if path.name != "empty.json"]

pytestmark = pytest.mark.skipif(not files("atif"), reason=WHY)


def traces(*folders: str) -> Iterator[tuple[Path, Trace]]:
    yield from traces_of(files(*folders))


def traces_of(paths: list[Path]) -> Iterator[tuple[Path, Trace]]:
    for path in paths:
        for trace in read_file(path):
            yield path, trace


def test_every_real_file_is_read_and_its_canonical_json_reads_as_the_same_trace():
    for path, trace in traces("atif", "openai_chat", "nasty_openai_chat"):
        assert list(read_bytes(trace.model_dump_json().encode())) == [trace], path.name


@pytest.mark.parametrize(("folder", "name"), [("atif", "atif"), ("openai_chat", "openai-chat")])
def test_every_real_file_is_detected(folder: str, name: str):
    assert {trace.source_format for _, trace in traces(folder)} == {name}


def test_nasty_files_are_read_and_the_empty_one_is_refused_by_name():
    assert {path.name for path, _ in traces_of(NASTY)} == {"bom_crlf.jsonl", "duplicate_keys.json"}
    with pytest.raises(UnreadableTrace, match=r"empty\.json: the file is empty"):
        list(read_file(TRACES / "nasty_files" / "empty.json"))


def test_the_same_run_is_the_same_eight_steps_in_chat_and_in_atif():
    (chat,) = read_file(TRACES / "openai_chat" / "5262_article_chat.json")
    (run,) = read_file(TRACES / "atif" / "5262_article_atif_v1.7.json")
    assert _told(chat) == _told(run)
    assert [len(step.calls) for step in chat.steps] == [1] * 8
    assert (chat.system, chat.task, chat.tools) == (run.system, run.task, run.tools)
    assert [each.result.is_error for _, _, each in chat.calls()] == [None] * 8
    assert [each.result.is_error for _, _, each in run.calls()] == [False] * 8


def _told(trace: Trace) -> list[tuple[str, list[tuple[str, object, str, str]]]]:
    return [
        (step.message, [(each.name, each.arguments, each.result.state, each.result.text) for each in step.calls])
        for step in trace.steps
    ]


def test_the_official_models_of_atif_count_the_same_steps_and_calls():
    for path in files("atif"):
        document: JsonValue = json.loads(path.read_bytes())
        if not isinstance(document, dict) or "steps" not in document:
            continue
        official = atif.Trajectory.model_validate({**document, "subagent_trajectories": None})
        scored = [step for step in official.steps if step.source == "agent" and not step.is_copied_context]
        (trace,) = read_file(path)
        assert [len(step.calls) for step in trace.steps] == [len(step.tool_calls or []) for step in scored], path.name


def test_the_bundle_nests_its_sub_agent():
    (trace,) = read_file(TRACES / "atif" / "subagent_trajectories.json")
    assert [len(each.subtraces) for _, _, each in trace.calls()] == [1]


@pytest.mark.skipif(not LABELLED.is_dir(), reason=WHY)
def test_rows_with_labels_are_read_and_the_labels_stay_in_extra():
    found = list(read_file(LABELLED / "hotpotqa.jsonl"))
    assert len(found) == 250
    assert all(trace.steps and "step_labels" in trace.extra for trace in found)


def test_no_two_formats_claim_a_document_equally():
    for path in sorted(TRACES.glob("*/*.json")):
        document: JsonValue = json.loads(path.read_bytes() or b"null")
        strengths = sorted(each.detect(document).strength for each in formats())
        assert strengths[-1] < 2 or strengths[-1] > strengths[-2], path.name
