import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_bytes, read_document, read_file
from stepjudge.formats.reading import limits
from stepjudge.trace import Trace

CHAT: list[JsonValue] = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "é"}]
LINE = json.dumps({"messages": CHAT}, ensure_ascii=False)


def read(data: bytes) -> Trace:
    (trace,) = read_bytes(data)
    return trace


def refusal(data: bytes) -> str:
    with pytest.raises(UnreadableTrace) as caught:
        list(read_bytes(data, name="a.json"))
    return str(caught.value)


def zipped(**files: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return held.getvalue()


WRITTEN: dict[str, Callable[[], bytes]] = {
    "plain": lambda: json.dumps(CHAT).encode(),
    "indented": lambda: json.dumps(CHAT, indent=2).encode(),
    "with a BOM": lambda: b"\xef\xbb\xbf" + json.dumps(CHAT).encode(),
    "with blank lines before it": lambda: b"\r\n \n" + json.dumps(CHAT).encode() + b"\n\n",
    "lines of messages": lambda: b"\r\n".join(json.dumps(each).encode() for each in CHAT),
    "gzip": lambda: gzip.compress(json.dumps(CHAT).encode()),
    "gzip in two members": lambda: b"".join(gzip.compress(json.dumps(each).encode() + b"\n") for each in CHAT),
    "zip": lambda: zipped(**{"runs/a.json": json.dumps(CHAT).encode(), "readme.txt": b"hi"}),
    "zip of gzip": lambda: zipped(**{"a.json.gz": gzip.compress(json.dumps(CHAT).encode())}),
}


@pytest.mark.parametrize("write", WRITTEN.values(), ids=WRITTEN)
def test_one_document_reads_the_same_however_its_bytes_are_written(write: Callable[[], bytes]):
    trace = read(write())
    assert (trace.task, trace.final_output) == ("x", "é")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a.json: the file is empty: expected a trace in it"),
        (b" \n\n", "a.json: the file is empty: expected a trace in it"),
        (b"[]", "a.json: the list is empty: expected a trace in it"),
        (b'"hi"', "a.json: the document is in no format known here"),
        (b"7", "none comes near a bare int"),
        (b'[{"role": "user", "content": "\xff"}]', "a.json: line 1: byte 0xff is not UTF-8: save the file as UTF-8"),
        (b'{"a":\n"\xff"}', "a.json: line 2: byte 0xff is not UTF-8"),
        ("[]".encode("utf-16"), "a.json: the text is UTF-16: save it as UTF-8"),
        (b'{"a": 1,\n "b" 2}', "a.json: line 2, column 6: not JSON (Expecting ':' delimiter) near"),
        (b'{"messages": [{"role": "user"', "a.json: line 1, column 30: the JSON was cut"),
        (b'{"messages": "unfin', "a.json: line 1, column 14: the JSON was cut"),
        (
            b'[{"role": "user", "content": "x"},\n {"role": ',
            "a.json: line 2, column 11: an element of the list was cut",
        ),
        (b'[{"role": "user", "content": "x"}', "a.json: line 1, column 34: the JSON was cut within the list"),
        (b'[{"role": "user",, "content": "xxxxxxxxxxxxxxxxxxxxxxxx"}]', "a.json: line 1, column 18: an element"),
        (b"{\n}\n{\n}", "a.json: line 3, column 1: text follows after the end of the JSON: several documents must"),
        (b"Steps: none", "a.json: line 1, column 1: not JSON"),
        (b"\x1f\x8b\x08\x00zzzzzzzz", "a.json: the compressed data"),
        (gzip.compress(b"[1, 2, 3, 4, 5, 6, 7, 8]" * 100)[:-12], "a.json: the compressed data ends too early"),
        (b"PK\x03\x04zzzz", "a.json: the zip archive is damaged"),
        (zipped(**{"a.txt": b"hi"}), "a.json: no format stores a run like this; name one of the files inside: a.txt"),
        (zipped(), "a.json: line 1"),
        (f"{LINE}\n{{\n{LINE}\n".encode(), "a.json: line 2, column 2: the JSON was cut"),
        (f'{LINE}\n{{"messages": []}}\n{LINE}'.encode(), "a.json: line 2: read as openai-chat: the trace has no steps"),
        (
            f'{LINE}\n{{"messages": [{{"role": "user"}}]}}'.encode(),
            "line 2: read as openai-chat: the trace has no steps",
        ),
    ],
)
def test_a_document_that_cannot_be_read_says_what_and_where(data: bytes, message: str):
    assert message in refusal(data)


def test_an_unknown_document_lists_what_was_tried():
    message = refusal(b'{"spam": 1, "eggs": 2}')
    assert "tried agent-process-bench, " in message
    assert "openai-chat" in message
    assert "none comes near an object with the keys spam, eggs" in message
    assert "--format" in message


def test_the_nearest_miss_says_why():
    message = refusal(b'[{"role": "user", "content": "x"}, {"role": "robot", "content": "y"}]')
    assert "nearest miss: openai-chat: messages[1] has the role 'robot'" in message


def test_an_unknown_format_name_lists_the_names():
    with pytest.raises(
        UnreadableTrace, match=r"no format is named 'chat': choose one of agent-process-bench, .*openai-chat"
    ):
        list(read_document(CHAT, format="chat"))


def test_a_named_format_is_not_second_guessed():
    (trace,) = read_document([*CHAT, {"role": "robot", "content": "y"}], format="openai-chat")
    assert len(trace.steps) == 1


@pytest.mark.parametrize("last", ['{"messages": [{"ro', '{"messages": nul', '{"mess', LINE[:-4], LINE[:-1]])
def test_a_cut_last_line_is_noted_in_the_trace_before_it(last: str):
    first, second = read_bytes(f"{LINE}\n{LINE}\n{last}".encode())
    assert first.notes == ()
    assert second.notes == ("the last line was cut: what it said is not in the trace",)


def test_a_last_line_that_was_cut_within_a_character_is_a_cut():
    cut = f"{LINE}\n{LINE}".encode().rpartition(b"\xa9")[0]
    assert [trace.notes for trace in read_bytes(cut)] == [("the last line was cut: what it said is not in the trace",)]


def test_events_of_one_trace_in_lines_note_a_cut_too():
    trace = read(b'{"role":"user","content":"x"}\n{"role":"assistant","content":"y"}\n{"role":"as')
    assert trace.notes == ("the last line was cut: what it said is not in the trace",)


def nested(levels: int) -> bytes:
    return b'{"messages": ' + json.dumps(CHAT).encode() + b', "x": ' + b"[" * levels + b"]" * levels + b"}"


@pytest.mark.parametrize("levels", [limits.MAX_DEPTH, 2000, 100_000])
def test_deep_nesting_is_refused(levels: int):
    assert f"nested more than {limits.MAX_DEPTH} levels deep" in refusal(nested(levels))
    assert f"nested more than {limits.MAX_DEPTH} levels deep" in refusal(LINE.encode() + b"\n" + nested(levels))
    assert f"nested more than {limits.MAX_DEPTH} levels deep" in refusal(b"[" + nested(levels) + b"]")


@pytest.mark.parametrize("levels", [limits.MAX_DEPTH, 2000])
def test_deep_nesting_is_refused_in_a_document_that_needs_mending_too(levels: int):
    document = nested(levels).replace(b'"x": ', b'"big": 1e999, "x": ')
    assert f"nested more than {limits.MAX_DEPTH} levels deep" in refusal(document)


def test_what_is_nested_a_little_less_is_left_out_with_a_note():
    trace = read(nested(100))
    assert trace.extra == {}
    assert "the field 'x' is nested more than" in trace.notes[0]


def test_a_parsed_document_that_contains_itself_is_refused():
    circle: list[object] = []
    circle += [circle] * 100
    with pytest.raises(UnreadableTrace):
        list(read_document(circle))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"messages": {1, 2}}, r"document: \$.messages is a set, not JSON"),
        ({"messages": [b""]}, r"document: \$.messages\[0\] is a bytes, not JSON"),
        ({1: 2}, r"document: \$ has the key 1, not text"),
        (None, "none comes near a bare NoneType"),
    ],
)
def test_a_parsed_document_that_is_not_json_is_refused_by_path(document: object, message: str):
    with pytest.raises(UnreadableTrace, match=message):
        list(read_document(document))


def test_lone_surrogates_are_replaced_and_counted():
    trace = read(
        b'[{"role": "user", "content": "a\\ud800b\\udfffc"}, {"role": "assistant", "content": "\\ud83d\\ude00"}]'
    )
    assert (trace.task, trace.final_output) == ("a�b�c", "😀")
    assert trace.notes == ("2 lone surrogates, which are no characters, were replaced by U+FFFD",)


def test_control_characters_stay():
    assert read(json.dumps([{"role": "user", "content": "\0\x1b[31m‮"}, CHAT[1]]).encode()).task == "\0\x1b[31m‮"


def test_duplicate_keys_are_noted_and_the_last_one_counts():
    trace = read(b'[{"role":"user","content":"a","content":"b"},{"role":"assistant","content":"c"}]')
    assert trace.task == "b"
    assert trace.notes == ("an object names a key twice ('content'): the last one counts",)


def test_numbers_that_json_does_not_have_are_kept_as_text():
    written = json.dumps(CHAT)[1:-1]
    trace = read(f'{{"messages": [{written}], "a": [NaN, -Infinity, 1e999], "b": {"9" * 5000}}}'.encode())
    assert trace.extra == {"a": ["NaN", "-Infinity", "Infinity"], "b": "9" * 5000}
    assert len(trace.notes) == 3
    assert read(trace.model_dump_json().encode()) == trace


def test_a_parsed_number_that_cannot_be_written_is_kept_as_text():
    (trace,) = read_document({"messages": CHAT, "big": 16**5000, "nan": float("nan")})
    assert trace.extra == {"big": "0x1" + "0" * 5000, "nan": "NaN"}
    assert len(trace.notes) == 2


def test_a_decompression_bomb_is_refused():
    bomb = gzip.compress(b'["' + b"a" * (limits.RATIO_FREE_BYTES + 2**20) + b'"]')
    assert len(bomb) < 2**20
    assert "as decompression bombs do" in refusal(bomb)
    assert "as decompression bombs do" in refusal(zipped(**{"a.json": gzip.decompress(bomb)}))


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(UnreadableTrace, match=r"gone.json: cannot be opened: No such file or directory"):
        list(read_file(tmp_path / "gone.json"))


def test_a_folder_that_is_no_run_names_the_files_inside(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.json").write_text("[]", encoding="utf-8")
    with pytest.raises(UnreadableTrace, match=r"name one of the files inside: a/b.json"):
        list(read_file(tmp_path))


def test_an_empty_folder_is_named(tmp_path: Path):
    with pytest.raises(UnreadableTrace, match="holds no files"):
        list(read_file(tmp_path))


@pytest.mark.parametrize("data", [LINE.encode(), zipped(**{"a.json": LINE.encode()}), gzip.compress(LINE.encode())])
def test_standard_input_is_read(data: bytes):
    code = "from stepjudge.formats import read_file; print([t.final_output for t in read_file('-')])"
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True, env=environment)
    assert done.stdout.decode().strip() == "['é']"


_MEASURE = """
import sys, resource
from stepjudge.formats import read_file
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(len(trace.steps) for trace in read_file(sys.argv[1]))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize(("opening", "joint", "closing"), [("", "\n", "\n"), ("[", ",", "]")])
def test_many_traces_are_read_in_constant_memory(tmp_path: Path, opening: str, joint: str, closing: str):
    trace = json.dumps({"messages": [*CHAT[:1], {"role": "assistant", "content": "y" * 100_000}]})
    path = tmp_path / "many.json"
    with path.open("w", encoding="utf-8") as file:
        file.write(opening)
        file.writelines((joint if number else "") + trace for number in range(600))
        file.write(closing)
    done = subprocess.run([sys.executable, "-c", _MEASURE, str(path)], capture_output=True, check=True)
    count, kibibytes = map(int, done.stdout.split())
    assert count == 600
    assert path.stat().st_size > 60_000_000
    assert kibibytes < 40_000
