"""A tool definition is read in the spelling of any provider: OpenAI (with or without `function`), Anthropic, MCP, Gemini."""

from pydantic import JsonValue

from stepjudge.formats.reading.cleaning import depth
from stepjudge.formats.reading.limits import MAX_DEPTH_WITHIN
from stepjudge.formats.reading.shape import as_object, as_text
from stepjudge.trace import Tool

_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")


def read_tool(definition: JsonValue) -> tuple[Tool | None, tuple[str, ...]]:
    """The tool, and notes. A provider's built-in tool has a type but no name: the type is its name then."""
    outer = as_object(definition)
    inner = as_object(outer.get("function")) or outer
    name = as_text(inner.get("name")) or as_text(outer.get("type"))
    if not name:
        return None, ("a tool definition without a name was left out",)
    schema = next((each for key in _SCHEMAS if isinstance(each := inner.get(key), dict)), None)
    tool = Tool(name=name, description=as_text(inner.get("description")), parameters=schema)
    if schema is None or depth(schema) <= MAX_DEPTH_WITHIN:
        return tool, ()
    note = f"the schema of tool {name!r} is nested more than {MAX_DEPTH_WITHIN} levels deep and was left out"
    return tool.model_copy(update={"parameters": None}), (note,)
