"""Terms are how a provider takes a request: how strictly it can be held to the reply's shape, and what it takes none of."""

import re
from dataclasses import dataclass
from typing import Any, Literal

from stepjudge.value import JsonObject

Mode = Literal["json_schema", "tool", "json_object", "text"]
"""How the model is held to the reply's shape, from the strictest to a mere request."""

OPTIONAL = ("temperature", "seed", "top_p", "top_logprobs", "logprobs")
"""Parameters that a request can do without."""

_MODES: tuple[Mode, ...] = ("json_schema", "tool", "json_object", "text")
_NAMES_OF_MODE: dict[Mode, str] = {
    "json_schema": r"response_format|schema|output_format|structured",
    "tool": r"tool",
    "json_object": r"response_format|json",
}
"""How a provider's objection names what it does not take."""

_TOOL = "answer"


@dataclass(frozen=True)
class Terms:
    """The mode, and the parameters that are left out."""

    mode: Mode
    dropped: tuple[str, ...]

    def after(self, objection: str) -> "Terms | None":
        """Without a parameter that the objection names, or else held less strictly; null when it names neither."""
        text = objection.lower()
        for name in OPTIONAL:
            if name not in self.dropped and re.search(rf"\b{name}\b", text):
                extra = ("top_logprobs",) if name == "logprobs" else ()
                return Terms(self.mode, (*self.dropped, name, *extra))
        if self.mode in _NAMES_OF_MODE and re.search(_NAMES_OF_MODE[self.mode], text):
            return Terms(_MODES[_MODES.index(self.mode) + 1], self.dropped)
        return None

    def joined(self, other: "Terms") -> "Terms":
        """What both have conceded."""
        mode = _MODES[max(_MODES.index(self.mode), _MODES.index(other.mode))]
        return Terms(mode, tuple(dict.fromkeys((*self.dropped, *other.dropped))))


def held_to(schema: JsonObject, mode: Mode) -> dict[str, Any]:
    match mode:
        case "json_schema":
            form = {"name": _TOOL, "schema": schema, "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": form}}
        case "tool":
            function = {"name": _TOOL, "description": "Gives the answers.", "parameters": schema}
            return {
                "tools": [{"type": "function", "function": function}],
                "tool_choice": {"type": "function", "function": {"name": _TOOL}},
            }
        case "json_object":
            return {"response_format": {"type": "json_object"}}
        case "text":
            return {}
