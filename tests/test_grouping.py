"""Reading on through one file is one scored unit; everything else stays a unit of its own."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from stepjudge.grouping import Read, groups, range_read
from stepjudge.trace import Call, Step, Trace

from traces import call, json_objects, names, step, traces


def view(index: int, first: int, last: int, **fields: Any) -> Step:
    """A step that views a range of lines."""
    turn, path, tool = fields.get("turn", 1), fields.get("path", "/capture.py"), fields.get("tool", "editor")
    return step(index, call(tool, command="view", path=path, view_range=[first, last]), turn=turn)


def shell(index: int, command: str, name: str = "command") -> Step:
    return step(index, call("terminal", **{name: command}))


def merged(*steps: Step) -> tuple[tuple[int, ...], ...]:
    return groups(steps, "consecutive-reads")


def test_the_published_example_merges_the_two_range_views_and_not_the_view_of_the_whole_file() -> None:
    steps = (
        shell(1, 'find /testbed -name "capture.py"'),
        step(2, call("editor", command="view", path="/capture.py")),
        shell(3, 'grep -n "EncodedFile" /capture.py'),
        view(4, 420, 450),
        view(5, 450, 470),
    )
    assert merged(*steps) == ((1,), (2,), (3,), (4, 5))
    assert groups(steps, "none") == ((1,), (2,), (3,), (4,), (5,))


@pytest.mark.parametrize(
    ("second", "together"),
    [
        (view(2, 20, 30), True),
        (view(2, 21, 30), True),
        (view(2, 11, 21), True),
        (view(2, 22, 30), False),
        (view(2, 10, 20), False),
        (view(2, 10, 30), False),
        (view(2, 12, 18), False),
        (view(2, 12, 20), False),
        (view(2, 1, 9), False),
        (view(2, 1, 30), False),
        (view(2, 21, 30, path="/other.py"), False),
        (view(2, 21, 30, tool="viewer"), False),
        (view(2, 21, 30, turn=2), False),
        (view(3, 21, 30), False),
        (step(2, call("editor", path="/capture.py")), False),
        (step(2, *[call("editor", path="/capture.py", view_range=[21, 30])] * 2), False),
        (step(2, message="I read on."), False),
    ],
)
def test_only_reading_on_merges(second: Step, together: bool) -> None:
    assert merged(view(1, 10, 20), second) == (((1, 2),) if together else ((1,), (second.index,)))


def test_a_unit_grows_as_long_as_it_is_read_on() -> None:
    assert merged(view(1, 1, 50), view(2, 51, 100), view(3, 90, 120), view(4, 60, 70)) == ((1, 2, 3), (4,))
    assert merged(view(1, 1, 50), shell(2, "ls"), view(3, 51, 100)) == ((1,), (2,), (3,))


@pytest.mark.parametrize(
    ("made", "read"),
    [
        (call("t", path="f", view_range=[1, 9]), (1, 9)),
        (call("t", file_path="f", start_line=1, end_line=9), (1, 9)),
        (call("t", filename="f", start=1, end=9), (1, 9)),
        (call("t", file_path="f", offset=11, limit=5), (11, 15)),
        (call("t", path="f", line_range=[3, 3]), (3, 3)),
        (call("t", path="f", view_range=[0, 3]), (0, 3)),
        (call("t", command="sed -n '420,450p' f"), (420, 450)),
        (call("t", cmd='sed -n "7p" f'), (7, 7)),
        (call("t", command="sed  -n 1,2p  'f'"), (1, 2)),
        (call("t", path="f", start_line=10**400, end_line=10**401), (10**400, 10**401)),
        (call("t", command="open", path="f", view_range=[1, 2]), (1, 2)),
    ],
)
def test_a_range_is_read_from_many_spellings(made: Call, read: tuple[int, int]) -> None:
    assert range_read(step(1, made)) == Read("t", "f", *read)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"path": "f"},
        {"view_range": [1, 2]},
        {"path": "f", "view_range": [1, -1]},
        {"path": "f", "view_range": [2, 1]},
        {"path": "f", "view_range": [1]},
        {"path": "f", "view_range": [1, 2, 3]},
        {"path": "f", "view_range": [True, 5]},
        {"path": "f", "view_range": [1.0, 2.0]},
        {"path": "f", "view_range": ["1", "2"]},
        {"path": "f", "view_range": None},
        {"path": "f", "start_line": False, "end_line": True},
        {"path": "f", "start_line": -5, "end_line": 5},
        {"path": "f", "offset": 5, "limit": 0},
        {"path": ["f"], "view_range": [1, 2]},
        {"path": "f", "view_range": [1, 2], "command": "insert"},
        {"path": "f", "start_line": 1, "end_line": 2, "new_content": "x"},
        {"path": "f", "start_line": 1, "end_line": 2, "content": ""},
        {"command": "sed -n '1,2p f"},
        {"command": "sed -n 1,2p f; reboot"},
        {"command": "sed -n 1,2p f;reboot"},
        {"command": "sed -n 1,2p f>g"},
        {"command": "sed -n 1,2p `reboot`"},
        {"command": "sed -i 1,2p f"},
        {"command": "sed -n 1,2d f"},
        {"command": "sed -n 2,1p f"},
        {"command": "sed -n 1,2p"},
        {"command": "sed -n 1,9999999999p f"},
        {"command": "sed -n 1,2p " + "f" * 1_000},
        {"command": ["sed", "-n", "1,2p", "f"]},
    ],
    ids=str,
)
def test_what_is_no_view_of_a_range_is_not_read_as_one(arguments: dict[str, Any]) -> None:
    assert range_read(step(1, Call(name="t", arguments=arguments))) is None


KEYS = ["path", "view_range", "start_line", "end_line", "offset", "limit", "command", "cmd", "content"]
VALUES: list[JsonValue] = ["f", "sed -n 1,2p f", "view", 1, 2**70, True, [1, 2], [2, 2**80], [None, {}], None, -1, 0.5]
hostile = st.dictionaries(
    st.sampled_from(KEYS),
    st.sampled_from(VALUES),
)


@given(st.lists(st.tuples(names, hostile | json_objects), max_size=6))
def test_a_grouping_keeps_every_step_once_and_in_order(made: list[tuple[str, Any]]) -> None:
    steps = [step(n, Call(name=name, arguments=arguments)) for n, (name, arguments) in enumerate(made, start=1)]
    units = merged(*steps)
    assert [index for unit in units for index in unit] == [each.index for each in steps]
    assert all(units)


@given(traces(), st.data())
def test_a_range_with_gaps_never_merges_across_them(trace: Trace, data: st.DataObject) -> None:
    chosen = [each for each in trace.steps if data.draw(st.booleans())]
    for unit in groups(chosen, "consecutive-reads"):
        assert unit == tuple(range(unit[0], unit[-1] + 1))
