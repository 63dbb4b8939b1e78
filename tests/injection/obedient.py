"""An obedient judge does whatever it is told to. It knows one thing only: which lines are headings, by their code.

So it obeys an order exactly if the order stands outside the frame. The gullible one does not even know the headings.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from injection.attacks import ATTACKS
from judge_service.prompt import system_text
from stepjudge.rubric_file import read_rubric_file, shipped
from stepjudge.visible import visible

from fakes.provider import Request
from scripted import Scripted

_USUAL = system_text(read_rubric_file(shipped() / "step" / "1.0.0.yaml"))
_ORDERS = tuple({visible(line) for attack in ATTACKS for line in attack.lines if visible(line) not in _USUAL})


@dataclass(frozen=True)
class Read:
    """A prompt, taken apart at its headings."""

    system: str
    user: str

    @cached_property
    def code(self) -> str:
        found = re.match(r"⟦([0-9a-f]{16}) the task⟧\n", self.user)
        assert found, "the prompt begins with the heading of the task"
        return found[1]

    @cached_property
    def headings(self) -> tuple[str, ...]:
        return tuple(re.findall(rf"^⟦{self.code} ([^\n]*)⟧$", self.user, re.MULTILINE))

    @cached_property
    def outside(self) -> str:
        """Everything that is not the recorded content of a place."""
        pieces = re.split(rf"^⟦{self.code} [^\n]*⟧$", self.user, flags=re.MULTILINE)
        return "\n".join((self.system, *self.headings, pieces[0], pieces[-1]))


def obeys(text: str) -> bool:
    """Whether an order can be read in the text."""
    return any(order in text for order in _ORDERS)


def obedient(request: Request) -> dict[str, Any]:
    """Yes to everything if told so outside the frame; otherwise no, which is honest."""
    return _answering(obeys(Read(request.system, request.user).outside))(request)


def gullible(request: Request) -> dict[str, Any]:
    """Yes to everything if told so anywhere."""
    return _answering(obeys(f"{request.system}\n{request.user}"))(request)


def _answering(told: bool) -> Scripted:
    return Scripted(lambda _step, _unit, name: "not_applicable" if name == "recovery" else "yes" if told else "no")
