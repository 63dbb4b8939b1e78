"""Messages are a prompt as chat providers take it: system, trace and question, then the talk about refused replies."""

import re
from collections.abc import Sequence
from typing import Any

from judge_service.prompt import Prompt


def messages(model: str, prompt: Prompt, said: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """System, trace and question, then the conversation about replies that were not accepted.

    Anthropic caches up to marked blocks; others cache prefixes by themselves and some choke on a `cache_control` key.
    """
    if re.search(r"anthropic|claude", model):
        marked = {"cache_control": {"type": "ephemeral"}}
        blocks: list[dict[str, Any]] = [{"type": "text", "text": block} for block in prompt.blocks]
        blocks[-1] |= marked
        system: Any = [{"type": "text", "text": prompt.system, **marked}]
        user: Any = [*blocks, {"type": "text", "text": prompt.question}]
    else:
        system, user = prompt.system, prompt.user
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    for reply, objection in said:
        messages += [{"role": "assistant", "content": reply or "(nothing)"}, {"role": "user", "content": objection}]
    return messages
