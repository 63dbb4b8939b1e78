"""Gemini declares functions with a schema of OpenAPI's kind, which is spelled anew as JSON Schema so that it can be used."""

from pydantic import JsonValue

from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.gemini_parts import either
from stepjudge.formats.reading.shape import as_list, as_object, as_text, objects
from stepjudge.value import JsonObject

_TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_MAX_LEVELS = 64


def tell_tools(draft: Draft, tools: JsonValue) -> None:
    """The functions of `tools`, and the built-in tools by their keys."""
    for tool in objects(tools):
        for function in objects(either(tool, "functionDeclarations", "function_declarations")):
            schema = function.get("parameters")
            draft.tool({**function, "parameters": json_schema(schema)} if isinstance(schema, dict) else function)
        for key, value in tool.items():
            if key not in ("functionDeclarations", "function_declarations") and value is not None:
                draft.tool({"name": key})


def json_schema(schema: JsonValue, levels: int = _MAX_LEVELS) -> JsonValue:
    """Types in lower case, `nullable` as a type, and counts as numbers: the API writes them as text."""
    if not isinstance(schema, dict) or not levels:
        return schema
    told: JsonObject = {}
    for key, value in schema.items():
        if key == "properties":
            told[key] = {name: json_schema(each, levels - 1) for name, each in as_object(value).items()}
        elif key in ("items", "additionalProperties"):
            told[key] = json_schema(value, levels - 1)
        elif key in ("anyOf", "any_of"):
            told["anyOf"] = [json_schema(each, levels - 1) for each in as_list(value)]
        elif key in _COUNTS and isinstance(value, str) and value.isascii() and value.isdigit():
            told[key] = int(value[:18])
        elif key != "nullable" and value is not None:
            told[key] = value.lower() if key == "type" and isinstance(value, str) and value in _TYPES else value
    if schema.get("nullable") is True and as_text(told.get("type")):
        told["type"] = [told["type"], "null"]
    return told
