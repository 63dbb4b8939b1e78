"""The document check, on real JSON, YAML and TOML, and on such as is made to take the machine."""

import json
from pathlib import Path
from typing import Any

import pytest

from checks.checking import checked, outcome, written

ORDERS = {"orders": [{"id": 1, "state": "open", "total": 10.5}, {"id": 2, "state": "closed", "total": 20}], "ok": True}
YAML = "name: web\nports: [80, 443]\nbase: &base {a: 1}\nother: {<<: *base, b: 2}\nday: 2019-05-14\n"
TOML = 'title = "x"\n[tool.a]\nversions = ["1", "2"]\nday = 2019-05-14\n'
# Ten levels of nine aliases each stand for three thousand million values.
BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 11))
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 11))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return written(
        tmp_path,
        **{
            "a.json": json.dumps(ORDERS),
            "a.yaml": YAML,
            "a.toml": TOML,
            "noend": json.dumps(ORDERS),
            "bad.json": '{"a": ',
            "bad.yaml": "a: [",
            "bad.toml": "a = ",
            "deep.json": "[" * 100_000 + "]" * 100_000,
            "deep.yaml": "[" * 500 + "]" * 500,
            "deep.toml": "a = " + "[" * 10_000 + "]" * 10_000,
            "bomb.yaml": BOMB,
            "merges.yaml": MERGES,
            "self.yaml": "a: &a [*a]\n",
            "object.yaml": "a: !!python/object/apply:os.system ['touch pwned']\n",
            "text.json": '"just text"',
        },
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"path": "a.json"}, "pass"),
        ({"path": "a.json", "query": "$.orders[0].state", "value": {"equals": "open"}}, "pass"),
        ({"path": "a.json", "query": "$.orders[1].state", "value": {"equals": "open"}}, "fail"),
        ({"path": "a.json", "query": "$.orders[*].state", "value": {"one_of": ["open", "closed"], "count": 2}}, "pass"),
        ({"path": "a.json", "query": "$.orders[*].state", "value": {"equals": "open"}}, "fail"),
        ({"path": "a.json", "query": "$.orders[?@.state == 'open'].id", "value": {"equals": 1}}, "pass"),
        ({"path": "a.json", "query": "$.orders[?match(@.state, 'cl.*')].id", "value": {"equals": 2}}, "pass"),
        ({"path": "a.json", "query": "$.orders[?search(@.state, 'pe')].id", "value": {"equals": 1}}, "pass"),
        ({"path": "a.json", "query": "$.orders[?match(@.state, 'pe')].id", "value": {"exists": False}}, "pass"),
        ({"path": "a.json", "query": "$.absent"}, "fail"),
        ({"path": "a.json", "query": "$.absent", "value": {"exists": False}}, "pass"),
        ({"path": "a.json", "query": "$.ok", "value": {"exists": False}}, "fail"),
        ({"path": "a.json", "query": "$.ok", "value": {"equals": True}}, "pass"),
        ({"path": "a.json", "query": "$.ok", "value": {"equals": 1}}, "fail"),
        ({"path": "a.json", "query": "$.ok", "value": {"equals": None}}, "fail"),
        ({"path": "a.json", "query": "$.orders[1].total", "value": {"equals": 20.0}}, "pass"),
        ({"path": "a.json", "query": "$.orders[0].total", "value": {"equals": 10, "tolerance": 0.5}}, "pass"),
        ({"path": "a.json", "query": "$.orders[0].total", "value": {"equals": 10, "tolerance": 0.4}}, "fail"),
        ({"path": "a.json", "query": "$..total", "value": {"minimum": 10.5, "maximum": 20}}, "pass"),
        ({"path": "a.json", "query": "$..total", "value": {"minimum": 11}}, "fail"),
        ({"path": "a.json", "query": "$..state", "value": {"maximum": 11}}, "fail"),
        ({"path": "a.json", "query": "$..state", "value": {"matches": "^(open|closed)$"}}, "pass"),
        ({"path": "a.json", "query": "$..id", "value": {"matches": "1"}}, "fail"),
        ({"path": "a.json", "query": "$", "value": {"equals": ORDERS}}, "pass"),
        ({"path": "text.json", "value": {"equals": "just text"}}, "pass"),
        ({"path": "noend", "language": "json"}, "pass"),
        ({"path": "a.yaml", "query": "$.ports[1]", "value": {"equals": 443}}, "pass"),
        ({"path": "a.yaml", "query": "$.other", "value": {"equals": {"a": 1, "b": 2}}}, "pass"),
        ({"path": "a.yaml", "query": "$.day", "value": {"equals": "2019-05-14"}}, "pass"),
        ({"path": "a.toml", "query": "$.tool.a.versions", "value": {"equals": ["1", "2"]}}, "pass"),
        ({"path": "a.toml", "query": "$.tool.a.day", "value": {"equals": "2019-05-14"}}, "pass"),
        ({"path": "absent.json"}, "fail"),
        ({"path": "bad.json"}, "fail"),
        ({"path": "bad.yaml"}, "fail"),
        ({"path": "bad.toml"}, "fail"),
        ({"path": "object.yaml"}, "fail"),
        ({"path": "deep.json"}, "error"),
        ({"path": "deep.yaml"}, "error"),
        ({"path": "deep.toml"}, "error"),
        ({"path": "bomb.yaml"}, "error"),
        ({"path": "merges.yaml"}, "error"),
        ({"path": "self.yaml"}, "error"),
    ],
)
async def test_a_document_holds_the_right_values(root: Path, fields: dict[str, Any], expected: str) -> None:
    result = await checked({"kind": "document", **fields}, root)
    assert result.outcome == expected, result
    assert "broke" not in result.reason
    assert not Path("pwned").exists()


async def test_a_filter_that_never_ends_is_given_up_in_time(tmp_path: Path) -> None:
    written(tmp_path, **{"a.json": json.dumps(["a" * 100 + "b"])})
    document = {"kind": "document", "path": "a.json", "query": "$[?search(@, '(a|a)+$')]", "timeout_s": 1}
    assert await outcome(document, tmp_path) == "error"
