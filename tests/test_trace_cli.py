"""`stepjudge trace` and `stepjudge convert`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stepjudge.cli.convert import convert
from stepjudge.cli.trace import trace
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_bytes, read_file

EXAMPLE = "examples/pytest-5262/trace.json"


def run(command: object, *arguments: str, input: str | None = None) -> str:
    done = CliRunner(env={"COLUMNS": "120"}).invoke(command, arguments, input=input, catch_exceptions=False)  # pyright: ignore[reportArgumentType]
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_trace_is_shown_with_turns_steps_calls_and_short_observations() -> None:
    shown = run(trace, "show", EXAMPLE, "--lines", "2")
    for text in ("8 steps, 8 calls", "turn 1", "step 8", "→ terminal", "… 499 more lines", "let me narrow down"):
        assert text in shown


def test_the_canonical_trace_is_printed_as_json() -> None:
    (printed,) = read_bytes(run(trace, "show", EXAMPLE, "--json").encode())
    (read,) = read_file(EXAMPLE)
    assert printed == read


def test_what_a_trace_contains_cannot_drive_the_terminal() -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07 [bold]markup[/] \u202egnp"
    chat = {"messages": [{"role": "user", "content": hostile}, {"role": "assistant", "content": hostile}]}
    shown = run(trace, "show", "-", input=json.dumps(chat))
    assert "⟨U+001B⟩[2J" in shown
    assert "[bold]markup[/]" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_every_format_is_listed() -> None:
    assert "openai-chat" in run(trace, "formats")


@pytest.mark.parametrize("target", ["stepjudge", "atif"])
def test_a_converted_trace_reads_back_the_same(target: str, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    run(convert, EXAMPLE, "--to", target, "--output", str(output))
    (back,), (source,) = read_file(output), read_file(EXAMPLE)
    assert [
        (step.message, [(call.name, call.arguments, call.result.text) for call in step.calls]) for step in back.steps
    ] == [
        (step.message, [(call.name, call.arguments, call.result.text) for call in step.calls]) for step in source.steps
    ]


def test_a_failed_conversion_leaves_no_file(tmp_path: Path) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(json.dumps({"messages": [{"role": "assistant", "content": "x"}]}) + "\n{broken}\n" * 2)
    with pytest.raises(UnreadableTrace):
        run(convert, str(source), "--output", str(output))
    assert list(tmp_path.iterdir()) == [source]
