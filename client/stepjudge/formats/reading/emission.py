"""An emission is what a model said when it was given some messages; an execution is what a tool then gave."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from stepjudge.formats.reading.content import Content
from stepjudge.trace import ErrorKind, Role, Trace, Usage
from stepjudge.value import JsonObject

_NOTHING = Content()


@dataclass(frozen=True)
class Asked:
    """A call in a message of a model."""

    name: str
    arguments: JsonValue = None
    id: str | None = None


@dataclass(frozen=True)
class Said:
    """A message, as a model was given it or emitted it."""

    role: Role
    content: Content = _NOTHING
    calls: tuple[Asked, ...] = ()
    reasoning: str = ""
    call_id: str | None = None
    """Of a tool's message: the call it answers."""
    name: str | None = None
    is_error: bool | None = None

    @property
    def key(self) -> tuple[str | None, ...]:
        """What tells a message from others when it stands in a later prompt, where its text may be spelt otherwise."""
        if self.role == "tool":
            return ("tool", self.call_id or self.content.text)
        if self.calls and all(each.id for each in self.calls):
            return ("assistant", *(each.id for each in self.calls))
        return (self.role, self.content.text.strip(), *(each.name for each in self.calls))


@dataclass(frozen=True)
class Execution:
    """What a harness recorded of running a tool."""

    name: str
    arguments: JsonValue = None
    call_id: str | None = None
    content: Content | None = None
    """Null where the result was not recorded."""
    is_error: bool | None = None
    error_kind: ErrorKind | None = None
    subtraces: tuple[Trace, ...] = ()


@dataclass(frozen=True)
class Emission:
    said: Said | None
    """Null where the output was not recorded."""
    given: tuple[Said, ...] = ()
    agent: str | None = None
    model: str | None = None
    usage: Usage | None = None
    started_at: str | None = None
    extra: JsonObject | None = None


def called_by(executions: Sequence[Execution]) -> Said:
    """What a model must have said, where only the runs of the tools it called are known."""
    return Said("assistant", calls=tuple(Asked(each.name, each.arguments, each.call_id) for each in executions))
