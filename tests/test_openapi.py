"""The OpenAPI document is good enough to generate a client from: names, answers, errors, streams and keys."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest

from serving import serving

KEYS = {"ann": {"sha256": hashlib.sha256(b"x").hexdigest(), "scopes": ("read",)}}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with serving(tmp_path_factory.mktemp("data")) as url:
        return httpx2.get(f"{url}/openapi.json").json()


def operations(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for path in document["paths"].values() for operation in path.values()]


def test_operations_have_names_that_read_well_as_methods(document: dict[str, Any]) -> None:
    names = [each["operationId"] for each in operations(document)]
    assert len(set(names)) == len(names)
    assert {"score", "estimate", "read_traces", "list_verdicts", "get_verdict", "get_rubric", "list_judges"} <= set(
        names
    )
    assert [name for name in names if "v1" in name] == []


def test_every_refusal_is_a_problem_and_nothing_else(document: dict[str, Any]) -> None:
    refusals = [
        response["content"]
        for operation in operations(document)
        for status, response in operation["responses"].items()
        if status.startswith("4")
    ]
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    assert [each for each in refusals if each != problem] == []


def test_the_lines_of_a_stream_are_told_apart_by_their_type(document: dict[str, Any]) -> None:
    event = document["components"]["schemas"]["Event"]
    assert event["discriminator"]["propertyName"] == "type"
    assert set(event["discriminator"]["mapping"]) == {"step", "scorecard", "problem"}


def test_what_is_answered_has_every_field_and_what_is_asked_only_the_needed_ones(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name in ("Scorecard", "StepScore", "Answer"):
        assert set(schemas[name]["required"]) == set(schemas[name]["properties"])
    assert schemas["ScoreRequest"]["required"] == ["trace"]


def test_every_reference_leads_to_a_schema(document: dict[str, Any]) -> None:
    named = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(document))) <= named


def test_a_key_is_optional_where_the_service_has_none_and_needed_where_it_has_some(
    document: dict[str, Any], tmp_path: Path
) -> None:
    with serving(tmp_path, api_keys=KEYS) as url:
        locked = httpx2.get(f"{url}/openapi.json").json()
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    assert document["paths"]["/v1/score"]["post"]["security"] == [{}, {"key": ["judge"]}]
    assert locked["paths"]["/v1/score"]["post"]["security"] == [{"key": ["judge"]}]
    assert "security" not in locked["paths"]["/healthz"]["get"]
