"""What the fake model API says to peers: the schema that they send filled in, or the words that they look for."""
# pyright: basic

from typing import Any

from fakes.provider import Reply, Request

TEXTS = {
    "inspect_ai": "The step brought what was needed.\n\nGRADE: C",
    "deepeval": '{"score": 8, "reason": "The step brought what was needed."}',
    "mlflow": '{"result": "yes", "rationale": "The step brought what was needed."}',
}


def script(peer: str) -> Any:
    def answered(request: Request) -> Reply | str | dict[str, Any]:
        tools: list[dict[str, Any]] = request.body.get("tools") or []
        if tools:
            return Reply(tool_arguments=filled(tools[0]["function"].get("parameters") or {}))
        if request.schema and peer not in TEXTS:
            return filled(request.schema)
        return TEXTS.get(peer, '{"result": "yes", "value": "yes", "score": true, "reason": "useful"}')

    return answered


def filled(schema: dict[str, Any], top: dict[str, Any] | None = None) -> Any:
    """Some value that the schema takes."""
    top = top or schema
    if "$ref" in schema:
        return filled(top["$defs"][schema["$ref"].rpartition("/")[2]], top)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return filled(options[0], top)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    match schema.get("type"):
        case "object":
            return {name: filled(each, top) for name, each in (schema.get("properties") or {}).items()}
        case "array":
            return [filled(schema.get("items") or {}, top)]
        case "boolean":
            return True
        case "integer" | "number":
            return 1
        case _:
            return "yes"
