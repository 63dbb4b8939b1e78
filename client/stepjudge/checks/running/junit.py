# pyright: basic
"""A JUnit report says which tests ran and how each ended. It was written by code that nobody trusts."""

import re
from typing import Literal, NamedTuple
from xml.etree.ElementTree import ParseError, XMLParser

Ending = Literal["passed", "failed", "error", "skipped"]

_PYTEST_ID = re.compile(r"^(?P<file>[^:]+)\.py::(?P<rest>.+)$")


class Case(NamedTuple):
    """How a test ended, and what it said when it did not pass."""

    ending: Ending
    message: str = ""


class BadReport(Exception):
    """The text is no JUnit report."""


class _Cases:
    """What the parser is told to build: the test cases, and no tree."""

    def __init__(self) -> None:
        self.cases: dict[str, Case] = {}
        self._case: str | None = None
        self.roots = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        match tag:
            case "testsuites" | "testsuite":
                self.roots += 1
            case "testcase":
                self._case = _joined(attributes.get("classname", ""), attributes.get("name", ""))
                self.cases.setdefault(self._case, Case("passed"))
            case "failure" | "error" | "skipped" if self._case is not None:
                self._worsen(Case("failed" if tag == "failure" else tag, attributes.get("message", "")))

    def end(self, tag: str) -> None:
        if tag == "testcase":
            self._case = None

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        del pubid, system
        # Entities are declared there, and a few hundred bytes of them can unfold to gigabytes.
        raise BadReport(f"the report declares a document type {name!r}, as no test runner does")

    def close(self) -> None:
        pass

    def _worsen(self, case: Case) -> None:
        # pytest writes an error of the teardown as a second case, or beside the first ending, of the same name.
        order: list[Ending] = ["passed", "skipped", "failed", "error"]
        assert self._case is not None
        self.cases[self._case] = max(self.cases[self._case], case, key=lambda each: order.index(each.ending))


def read_report(text: bytes) -> dict[str, Case]:
    """Every test by its key. Raises BadReport."""
    cases = _Cases()
    parser = XMLParser(target=cases)
    try:
        parser.feed(text)
        parser.close()
    except (ParseError, ValueError, LookupError) as error:
        raise BadReport(f"the report is no XML: {error}") from error
    if not cases.roots:
        raise BadReport("the report holds no <testsuite>")
    return cases.cases


def key(test: str) -> str:
    """What names a test in a report, given pytest's node id or `classname::name`."""
    pytest_id = _PYTEST_ID.match(test)
    if pytest_id is None:
        return test
    # A parameter may hold `::`, and stands in brackets.
    path, bracket, parameters = pytest_id["rest"].partition("[")
    *classes, name = path.split("::")
    return _joined(".".join([pytest_id["file"].replace("/", "."), *classes]), name + bracket + parameters)


def _joined(classname: str, name: str) -> str:
    return f"{classname}::{name}"
