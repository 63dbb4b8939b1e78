"""Verdicts as a person reads them on a terminal."""

import json

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stepjudge.contract import Audit, VerdictPage
from stepjudge.value import JsonObject
from stepjudge.verdict import Answer, VerdictRecord, Vote
from stepjudge.visible import visible


def print_audit(audit: Audit) -> None:
    """Everything about one verdict. What models and traces said is printed as text, control characters spelled out."""
    console = Console(highlight=False)
    record = audit.record
    console.print(_origin(record))
    console.rule("answers")
    for answer in record.verdict.answers:
        console.print(_answer(answer))
    if record.votes:
        console.rule("votes")
        for vote in record.votes:
            console.print(_vote(vote))
    if record.verdict.facts:
        console.rule("facts")
        for fact in record.verdict.facts:
            where = "" if fact.call is None else f" (call {fact.call})"
            console.print(Text(visible(f"{fact.name}{where} {fact.detail}")))
    if audit.cuts:
        console.rule("cut from the prompt")
        for cut in audit.cuts:
            shown = f"{cut.shown_head} + {cut.shown_tail} of {cut.length} characters shown"
            console.print(Text(visible(f"{cut.place}: {shown}")))
    for number, exchange in enumerate(record.exchanges, start=1):
        console.rule(f"exchange {number}")
        console.print(Text(_exchange(exchange)))
    for prompt in audit.prompts:
        console.rule("prompt")
        console.print(Text(visible(prompt)))
    if not audit.prompts:
        console.print("see the verdicts of its members" if record.votes else "no model was asked")
    console.rule("digests")
    console.print(Text(_digests(audit)))


def print_page(page: VerdictPage) -> None:
    """A page of verdicts, one line each."""
    table = Table(header_style="bold", pad_edge=False)
    for name in ("verdict", "when", "rubric", "judge", "step", "answers", "cost"):
        table.add_column(name, overflow="fold")
    for verdict in page.verdicts:
        answers = ", ".join(f"{name} {'/'.join(words)}" for name, words in verdict.answers.items())
        cost = "unknown" if verdict.cost_usd is None else f"${verdict.cost_usd:.4f}"
        row = (verdict.verdict_id, verdict.created_at, verdict.rubric, verdict.judge, str(verdict.step), answers, cost)
        table.add_row(*(Text(visible(cell)) for cell in row))
    console = Console()
    console.print(table)
    if page.next_cursor:
        console.print(f"more: --cursor {page.next_cursor}")


def _origin(record: VerdictRecord) -> Table:
    verdict = record.verdict
    table = Table(show_header=False, box=None, pad_edge=False)
    rows = {
        "verdict": verdict.verdict_id,
        "step": str(verdict.step),
        "rubric": f"{record.rubric} ({record.rubric_digest})",
        "judge": f"{verdict.judge} ({record.judge_digest})",
        "specification": json.dumps(record.judge),
        "answered by": verdict.spent.model or "no model",
        "spent": _spent(record),
        "when": record.created_at,
        "service": f"stepjudge {record.service_version}; {record.prompt_version}",
    }
    for name, value in rows.items():
        table.add_row(name, Text(visible(value), overflow="fold"))
    return table


def _spent(record: VerdictRecord) -> str:
    spent = record.verdict.spent
    cost = "cost unknown" if spent.cost_usd is None else f"${spent.cost_usd:.6f}"
    tokens = f"{spent.prompt_tokens} prompt ({spent.cached_tokens} cached), {spent.completion_tokens} reply tokens"
    return f"{cost}, {spent.requests} requests, {tokens}, {spent.latency_s:.2f} s"


def _answer(answer: Answer) -> Text:
    where = "" if answer.call is None else f" of call {answer.call}"
    text = Text(f"{answer.criterion}{where}: ")
    text.append(answer.answer, style="bold")
    text.append(f" ({answer.cause})" if answer.cause else "")
    text.append(f" settled by facts, rule {answer.rule}" if answer.settled_by == "facts" else "")
    text.append(f" rule {answer.rule}" if answer.rule and answer.settled_by == "judge" else "")
    text.append(" UNGROUNDED", style="red") if answer.ungrounded else None
    text.append(f" confidence {answer.confidence:.2f}" if answer.confidence is not None else "")
    text.append(f" fixes {', '.join(map(str, answer.fixes))}" if answer.fixes else "")
    text.append(visible(f" decided by {', '.join(answer.decided_by)}") if answer.decided_by else "")
    text.append(f"\n    {visible(answer.reason)}" if answer.reason else "")
    for evidence in answer.evidence:
        text.append(f"\n    {visible(evidence.place)}: “{visible(evidence.quote)}”", style="dim")
    return text


def _vote(vote: Vote) -> Text:
    said = ", ".join(
        f"{answer.criterion}{'' if answer.call is None else f' of call {answer.call}'} {answer.answer}"
        for answer in vote.answers
    )
    remembered = ", remembered" if vote.reused else ""
    return Text(visible(f"{vote.member}: {said}\n    stepjudge audit show {vote.verdict_id}{remembered}"))


def _exchange(exchange: JsonObject) -> str:
    reply = exchange.get("reply")
    rest = {name: value for name, value in exchange.items() if name != "reply"}
    return visible(f"{json.dumps(rest, ensure_ascii=False)}\n{reply if isinstance(reply, str) else ''}")


def _digests(audit: Audit) -> str:
    record = audit.record
    matches = {True: "matches what was sent", False: "DOES NOT MATCH what was sent", None: "nothing was sent"}
    state = "matches" if audit.state_matches else "DOES NOT MATCH what is stored"
    return (
        f"key    {record.verdict.key}\n"
        f"state  {record.state_digest} ({state})\n"
        f"step   {record.step_digest}\n"
        f"prompt {', '.join(record.prompt_digests) or 'none'} (re-rendered: {matches[audit.prompt_matches]})"
    )
