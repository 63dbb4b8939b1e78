"""A trace as a person reads it on a terminal: turns, steps, calls, and the heads of long texts."""

import json

from rich.console import Console
from rich.text import Text

from stepjudge.trace import Call, Message, Result, Step, Trace
from stepjudge.visible import visible

_WIDEST = 2_000
"""Characters of one line that are shown."""


def print_trace(trace: Trace, *, lines: int) -> None:
    """Print a trace. Whatever it contains is shown as text."""
    console = Console(highlight=False)
    console.print(_heading(trace))
    if trace.task:
        console.print(_block("task", trace.task, lines))
    turn = 0
    for step in trace.steps:
        if step.turn != turn:
            turn = step.turn
            console.rule(f"turn {turn}", style="dim")
        _print_step(console, step, lines)
    for message in trace.after:
        console.print(_message(message, lines))
    for note in trace.notes:
        console.print(Text(f"note: {visible(note)}", style="yellow"))


def print_state(console: Console, trace: Trace, index: int, *, lines: int, earlier: int) -> None:
    """Print a step with what stands before it, and nothing after it. Earlier steps are shown shorter."""
    if trace.system:
        console.print(_block("system", trace.system, earlier))
    if trace.task:
        console.print(_block("task", trace.task, lines))
    if trace.tools:
        console.print(_block("tools", ", ".join(tool.name for tool in trace.tools), earlier))
    for step in trace.steps[: index - 1]:
        _print_step(console, step, earlier)
    console.rule("the step in question", style="bold")
    _print_step(console, trace.steps[index - 1], lines)


def _heading(trace: Trace) -> Text:
    calls = sum(len(step.calls) for step in trace.steps)
    counts = f"{len(trace.steps)} steps, {calls} calls, {len(trace.tools)} tools"
    text = Text(visible(trace.trace_id), style="bold")
    return text.append(f"  ({trace.source_format}; {counts})", style="not bold")


def _print_step(console: Console, step: Step, lines: int) -> None:
    for message in step.before:
        console.print(_message(message, lines))
    agent = f" {visible(step.agent)}" if step.agent else ""
    console.print(Text(f"step {step.index}{agent}", style="bold cyan"))
    if step.message:
        console.print(_block("says", step.message, lines))
    for call in step.calls:
        console.print(_call(call, lines))
        _print_subtraces(console, call)
    if step.observation is not None:
        console.print(_result(step.observation, lines))


def _print_subtraces(console: Console, call: Call) -> None:
    for subtrace in call.subtraces:
        console.print(Text(f"    started a sub-agent: {visible(subtrace.trace_id)}, {len(subtrace.steps)} steps"))


def _message(message: Message, lines: int) -> Text:
    return _block(f"{message.role} {visible(message.name or '')}".strip(), message.text, lines)


def _call(call: Call, lines: int) -> Text:
    arguments = call.arguments_raw if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
    state = "" if call.arguments_state == "ok" else f" ({call.arguments_state})"
    text = Text("  → ").append(visible(call.name), style="bold").append(f"{state} ")
    text.append(_head(arguments or "", lines))
    return text.append("\n").append_text(_result(call.result, lines))


def _result(result: Result, lines: int) -> Text:
    about = [result.state] if result.state != "present" else []
    about += ["error"] if result.is_error else []
    about += [result.error_kind] if result.error_kind else []
    about += [f"exit code {result.exit_code}"] if result.exit_code else []
    style = "red" if result.is_error or result.exit_code else "dim" if about else ""
    text = Text("  ← ").append(", ".join(about), style=style or "dim")
    text.append(f"{' ' if about else ''}{_head(result.text, lines)}", style=style)
    for item in result.attachments:
        text.append(f" [{visible(item.kind)} {visible(item.media_type or '')}]", style="dim")
    return text


def _block(title: str, content: str, lines: int) -> Text:
    return Text("  ").append(f"{title}: ", style="dim").append(_head(content, lines))


def _head(content: str, lines: int) -> str:
    """The first lines, indented, and how many more there are."""
    every = content.splitlines()
    shown = [visible(line[:_WIDEST]) + ("…" if len(line) > _WIDEST else "") for line in every[:lines]]
    more = [f"… {len(every) - lines} more lines"] if len(every) > lines else []
    return "\n      ".join([*shown, *more])
