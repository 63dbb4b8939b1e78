"""The pytest plugin: the fixture `assert_steps`, options for all assertions about steps, and a summary of their scores.

Every pytest run of an environment with stepjudge loads it, so it imports nothing but pytest until a step is scored.
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, cast

import pytest

from stepjudge.adapters import assertion

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

_PROPERTY = "stepjudge"
_OPTIONS = {
    "url": "Address of the judge service. [default: $STEPJUDGE_URL, or an embedded service]",
    "judge": "Judge, by its name at the service, or a model. [default: the service's own]",
    "rubric": "Rubric, as NAME, NAME@VERSION or FILE.yaml. [default: step]",
}
_running = pytest.StashKey[pytest.Item]()
_before = pytest.StashKey[assertion.Setup]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Each option may stand in the configuration too: `stepjudge_judge = "…"`."""
    group = parser.getgroup("stepjudge", "scores of agents' steps")
    for name, text in _OPTIONS.items():
        group.addoption(f"--stepjudge-{name}", metavar=name.upper(), help=text)
        parser.addini(f"stepjudge_{name}", text)
    text = "What becomes of a test whose steps could not be scored. [default: fail]"
    group.addoption("--stepjudge-when-not-scored", choices=("fail", "skip"), help=text)
    parser.addini("stepjudge_when_not_scored", text)


def pytest_configure(config: pytest.Config) -> None:
    chosen = {name: config.getoption(f"stepjudge_{name}") or config.getini(f"stepjudge_{name}") for name in _OPTIONS}
    when = config.getoption("stepjudge_when_not_scored") or config.getini("stepjudge_when_not_scored") or "fail"
    if when not in ("fail", "skip"):
        raise pytest.UsageError(f"stepjudge_when_not_scored is {when!r}: write fail or skip")

    def report(outcome: assertion.Outcome, line: str) -> None:
        item = config.stash.get(_running, None)
        if item is not None:
            # travels with the test's report: to the summary, from the workers of xdist, and into JUnit XML
            item.user_properties.append((_PROPERTY, f"{outcome}: {line.splitlines()[0]}"))

    config.stash[_before] = assertion.setup
    options = cast("Any", {name: value for name, value in chosen.items() if value})
    assertion.setup = assertion.Setup(options, when, report)


def pytest_unconfigure(config: pytest.Config) -> None:
    """A run within a run, as plugins' own tests make them, leaves the outer one's setup as it was."""
    assertion.setup = config.stash.get(_before, assertion.setup)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.config.stash[_running] = item
    try:
        return (yield)
    finally:
        del item.config.stash[_running]


@pytest.fixture
def assert_steps() -> Callable[..., Any]:
    """`assert_steps(trace, rubric=…, at_least=…)`: see stepjudge.assert_steps."""
    return assertion.assert_steps


def pytest_terminal_summary(terminalreporter: "TerminalReporter") -> None:
    """One line for each assertion about steps, under the test that made it."""
    reports = [each for kind in terminalreporter.stats.values() for each in kind if isinstance(each, pytest.TestReport)]
    scored = [
        (report.nodeid, str(value))
        for report in reports
        if report.when == "teardown"  # the last report of a test holds what all its phases noted
        for name, value in report.user_properties
        if name == _PROPERTY
    ]
    if not scored:
        return
    terminalreporter.section("step scores")
    for node, line in scored:
        terminalreporter.write_line(f"{node}: {line}")
    not_scored = sum(line.startswith("not scored") for _, line in scored)
    terminalreporter.write_line(f"{len(scored)} assertions about steps, {not_scored} of them not scored")
