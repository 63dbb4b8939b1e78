"""A judged service is a real judge service on a loopback port whose model is scripted, and traces for it to score.

The script: everything is yes, but step 2 of every trace is not useful, and step 3 recovers from it. What facts settle
stays settled (museum has two rejected calls and a repeated one).
"""

import json
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakes.provider import Provider
from scripted import Answers, Scripted
from serving import serving

EXAMPLES = Path(__file__).parents[1] / "examples"

SMALL: dict[str, Any] = {
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "weather",
                "description": "The weather in a city.",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            },
        }
    ],
    "messages": [
        {"role": "user", "content": "What is the weather in Lima?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lima"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "18 degrees, mist"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "b", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Cusco"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "b", "content": "11 degrees, sun"},
        {"role": "assistant", "content": "It is 18 degrees and misty in Lima."},
    ],
}
"""An OpenAI chat: three steps, two calls; step 2 asks for a city nobody asked about."""


def documents() -> dict[str, Any]:
    """Three traces as their harnesses wrote them, by name: 8, 6 and 3 steps."""
    recorded = {name: json.loads((EXAMPLES / name / "trace.json").read_text()) for name in ("pytest-5262", "museum")}
    return {**recorded, "small": SMALL}


def samples(count: int) -> list[dict[str, Any]]:
    """So many traces of one step, of which each two are the same."""
    return [
        {
            "messages": [
                {"role": "user", "content": f"What is {number // 2} times two?"},
                {"role": "assistant", "content": f"It is {number // 2 * 2}."},
            ]
        }
        for number in range(count)
    ]


def script(step: int, _unit: str, criterion: str) -> Any:
    """Step 2 is not useful; step 3 recovers from it."""
    if criterion == "recovery":
        return {"answer": "yes", "fixes": [2]} if step == 3 else "not_applicable"
    if step == 2 and criterion == "useful":
        return {"answer": "no", "reason": "scripted: step 2 brought nothing that was needed"}
    return "yes"


@dataclass(frozen=True)
class Judged:
    """A service and the provider of its model."""

    url: str
    provider: Provider


@contextmanager
def judged(
    data_dir: Path, *, answers: Answers = script, provider_is_up: bool = True, latency: float = 0.0, **settings: Any
) -> Generator[Judged]:
    """`latency` is the model's, in seconds; `settings` are the service's, such as `concurrency`."""
    with Provider(Scripted(answers), latency=latency) as provider:
        base = provider.base_url if provider_is_up else f"http://127.0.0.1:{_free_port()}/v1"
        with serving(data_dir, judge="openai/scripted", api_base=base, **settings) as url:
            yield Judged(url, provider)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
