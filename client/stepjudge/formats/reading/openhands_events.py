"""OpenHands events (1.x): how a conversation is stored as a folder, and what stands in parts of its events."""

import re
from collections import defaultdict
from collections.abc import Iterator

from pydantic import JsonValue

from stepjudge.formats.reading.content import read_content
from stepjudge.formats.reading.shape import as_integer, as_list, as_object, as_text, objects
from stepjudge.formats.reading.tree import Tree
from stepjudge.value import JsonObject

_EVENT_FILE = re.compile(r"(?P<home>.*/|)events/event-\d+-[^/]*\.json")


def unpack(tree: Tree) -> Iterator[JsonValue] | None:
    homes: defaultdict[str, list[str]] = defaultdict(list[str])
    for name in tree.names:
        if found := _EVENT_FILE.fullmatch(name):
            homes[found["home"]].append(name)
    return (_conversation(tree, home, names) for home, names in homes.items()) if homes else None


def _conversation(tree: Tree, home: str, names: list[str]) -> JsonValue:
    state = f"{home}base_state.json"
    return {
        "items": [tree.document(name) for name in names],
        "base_state": tree.document(state) if state in tree.names else None,
    }


def definition_of(tool: JsonObject) -> JsonObject:
    """The SDK stores no names of its own tools: a tool is called as its title or, without one, as its class."""
    served = as_object(tool.get("mcp_tool"))
    if served or "function" in tool or "name" in tool:
        return served or tool
    class_name = as_text(tool.get("kind")).removesuffix("Tool")
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name).lower()
    return {"name": as_text(tool.get("title")) or words, "description": tool.get("description")}


def reasoning_of(holder: JsonObject) -> str:
    stated = as_text(holder.get("reasoning_content"))
    blocks = (as_text(each.get("thinking")) for each in objects(holder.get("thinking_blocks")))
    item = as_object(holder.get("responses_reasoning_item"))
    return stated or "\n".join(filter(None, blocks)) or read_content(as_list(item.get("summary"))).text


def exit_code_of(observation: JsonObject) -> int | None:
    """The metadata have -1 where the command has not ended."""
    if "exit_code" in observation:
        return as_integer(observation["exit_code"])
    code = as_integer(as_object(observation.get("metadata")).get("exit_code"))
    return None if code == -1 else code
