"""A scripted judge answers as a test says: it reads the question in a prompt and fills in the reply's schema."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fakes.provider import Request

Answers = Callable[[int, str, str], Mapping[str, Any] | str]
"""(step, unit, criterion) → an answer word, or a whole answer object."""


@dataclass(frozen=True)
class Scripted:
    """A script for the provider. Quotes the tool name or the message of the step, so answers are grounded."""

    answers: Answers

    def __call__(self, request: Request) -> dict[str, Any]:
        step = asked_step(request)
        reply: dict[str, Any] = {}
        for unit, criteria in asked(request).items():
            reply[unit] = {name: self._answer(request, step, unit, name) for name in criteria}
        return {**filled(request, reply), "inherits_from": []}

    def _answer(self, request: Request, step: int, unit: str, name: str) -> dict[str, Any]:
        said = self.answers(step, unit, name)
        whole = {"answer": said} if isinstance(said, str) else dict(said)
        return {
            "evidence": [evidence(request, step, unit)],
            "reason": f"scripted for step {step}",
            "fixes": [],
            **whole,
        }


def always(word: str) -> Scripted:
    """The same answer to everything; recovery is not applicable."""
    return Scripted(lambda _step, _unit, name: "not_applicable" if name == "recovery" else word)


def filled(request: Request, reply: dict[str, Any]) -> dict[str, Any]:
    """The reply with something in every place that the schema has, also where facts have settled the answer."""
    settled: dict[str, Any] = {"evidence": [], "reason": "", "answer": "undetermined", "fixes": []}
    units: dict[str, Any] = (request.schema or {}).get("properties", {})
    return {
        unit: {name: reply.get(unit, {}).get(name, settled) for name in form.get("properties", {})}
        for unit, form in units.items()
        if form["type"] == "object"
    } or reply


def asked_step(request: Request) -> int:
    """Which step the prompt is about."""
    found = re.findall(r"^Judge step (\d+),", request.user, re.MULTILINE)
    return int(found[-1])


def asked(request: Request) -> dict[str, list[str]]:
    """The criteria asked, by the reply's keys, as the question lists them."""
    question = request.user[request.user.rindex("Judge step ") :]
    lines = re.findall(r"^- (act_\d+|step)[^:\n]*: (.*)$", question, re.MULTILINE)
    return {unit: re.findall(r"(\w+) \(", text) for unit, text in lines}


def evidence(request: Request, step: int, unit: str) -> dict[str, str]:
    """A quote that stands in the prompt: the first line of a piece of the step."""
    number = re.search(r"\d+", unit)
    places = [f"s{step}.c{number[0] if number else 1}.tool", f"s{step}.message"]
    for place in places:
        found = re.search(rf"^⟦\w+ {re.escape(place)}[^\n]*⟧\n([^\n]+)$", request.user, re.MULTILINE)
        if found:
            return {"place": place, "quote": found[1][:60]}
    return {"place": "task", "quote": request.user.splitlines()[2][:20]}
