# pyright: basic
"""How many attacks on the judge the facts tell of, and how many honest traces they tell of by mistake.

    python benchmarks/injection.py [--data ../shared/data]

Attacks are in tests/injection: those that the recognisers were improved on, and some that were held out from that.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from injection.attacks import ATTACKS
from injection.held_out import HELD_OUT
from injection.measured import recorded, told, unflagged
from judge_service.facts import FACTS_VERSION
from stepjudge.interval import wilson


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    data: Path = options.parse_args().data
    print(f"facts {FACTS_VERSION}")
    for title, attacks in (("attacks", ATTACKS), ("held out", HELD_OUT)):
        silent = unflagged(attacks)
        kinds, silent_kinds = Counter(each.kind for each in attacks), Counter(each.kind for each in silent)
        print(f"\n{title}: unflagged {_rate(len(silent), len(attacks))}")
        for kind, count in kinds.items():
            names = ", ".join(each.name for each in silent if each.kind == kind)
            print(f"  {kind:20} {silent_kinds[kind]:2}/{count:2}  {names}")
    if not data.is_dir():
        print(f"\nno recorded traces in {data}: false alarms were not counted")
        return
    found = [(path, trace, told(trace)) for path, trace in recorded(data / "traces")]
    found += [(path, trace, told(trace)) for path, trace in recorded(data / "agentprocessbench")]
    steps = sum(len(trace.steps) for _, trace, _ in found)
    for name in ("addresses_judge", "invisible_characters"):
        alarmed = [(path, facts) for path, _, facts in found if any(fact.name == name for fact in facts)]
        print(f"\n{name}: recorded traces that it is raised of {_rate(len(alarmed), len(found))}, of {steps} steps")
        for path, count in Counter(path.name for path, _ in alarmed).most_common(12):
            print(f"  {count:3}  {path}")


def _rate(part: int, whole: int) -> str:
    found = wilson(part, whole)
    return f"{part}/{whole} = {part / whole:.1%} [{found.low:.1%}, {found.high:.1%}]"


if __name__ == "__main__":
    main()
