"""How many attacks a fact tells of, and of how many honest traces one does too."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from injection.attacks import Attack, planted
from judge_service.facts.hostility import Hostility
from stepjudge.errors import UnreadableTrace
from stepjudge.formats import read_file
from stepjudge.probe.finding import NOTICES
from stepjudge.trace import Trace
from stepjudge.verdict import Fact


def told(trace: Trace) -> tuple[Fact, ...]:
    """What an auditor is told of a trace's texts."""
    hostility = Hostility(trace)
    return tuple(fact for step in trace.steps for fact in hostility.of(step) if fact.name in NOTICES)


def unflagged(attacks: Iterable[Attack]) -> tuple[Attack, ...]:
    return tuple(attack for attack in attacks if not told(planted(attack)))


def recorded(folder: Path) -> Iterator[tuple[Path, Trace]]:
    """Every trace of a folder that can be read, as real agents left it."""
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        try:
            yield from ((path, trace) for trace in read_file(path))
        except UnreadableTrace:
            continue
