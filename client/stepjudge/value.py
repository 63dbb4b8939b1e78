"""A value is frozen, strict about its fields, and equal to whatever has the same content."""

from pydantic import BaseModel, ConfigDict, JsonValue

JsonObject = dict[str, JsonValue]


class Value(BaseModel):
    """What every domain value is built on: it serves the code and the wire alike."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        json_schema_serialization_defaults_required=True,  # what is answered holds every field
    )
