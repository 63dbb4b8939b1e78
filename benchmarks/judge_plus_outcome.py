# pyright: basic
"""What a judge gains from the outcome, from a calibration, and from both: AgentProcessBench hotpotqa, twenty judges.

    python benchmarks/judge_plus_outcome.py [--data ../shared/data/agentprocessbench] [--judges Gemini,DeepSeek] [--folds 10]

Alone: the recorded labels. `+ outcome`: the final step takes what the short-answer check says of the trace, where it can
tell. `+ calibration`: labels and content facts through a logistic model; every query is predicted by weights that none of
its steps had a part in. The judges never saw the reference; the check does, which is the point of a view.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from hotpotqa import CLASSES, DATA, LabelledStep, given, judge_names, read_steps, recorded

from stepjudge.calibration_features import Features, features
from stepjudge.calibration_fit import Example, held_out, learned, predictions

NAMES = [str(each) for each in CLASSES]
SIZES = (10, 25, 50, 100)
TARGETS = {"+ outcome": (0.80, 0.55), "+ both": (0.83, 0.62)}


@dataclass(frozen=True)
class Figures:
    """Accuracy over three classes, Cohen's kappa, kappa of bad or not, and how often the first bad step is found."""

    accuracy: float
    kappa: float
    kappa_bad: float
    first_error: float


class Bench:
    """The labelled steps as arrays."""

    def __init__(self, steps: list[LabelledStep], seed: int) -> None:
        self.steps = steps
        self.human = np.array([step.human for step in steps])
        self.query = np.unique([step.query for step in steps], return_inverse=True)[1]
        self.trace = np.unique([step.trace for step in steps], return_inverse=True)[1]
        self.decided = np.array([step.last and step.outcome is not None for step in steps])
        self.outcome = np.array([1 if step.outcome else -1 for step in steps])
        rng = np.random.default_rng(seed)
        count = int(self.query.max()) + 1
        self.weights = rng.multinomial(count, np.full(count, 1 / count), size=2_000)

    def viewed(self, said: np.ndarray) -> np.ndarray:
        return np.where(self.decided, self.outcome, said)

    def examples(self, said: np.ndarray, *, content: bool = True) -> list[Example]:
        return [
            Example(step.query, step.position + 1, _features(step, answer) if content else {f"step {min(step.position, 11)}": 1.0}, str(step.human), None)
            for step, answer in zip(self.steps, said, strict=True)
        ]  # fmt: skip

    def figures(self, said: np.ndarray) -> Figures:
        return Figures(
            float(np.mean(said == self.human)),
            float(_kappa(self.confusion(said).sum(0))),
            float(_kappa(_two(self.confusion(said).sum(0)))),
            float(np.mean(_first(said, self.trace) == _first(self.human, self.trace))),
        )

    def confusion(self, said: np.ndarray) -> np.ndarray:
        """Per query, human × said; what the judge did not answer stands in a column of its own."""
        made = np.zeros((int(self.query.max()) + 1, 3, 4))
        np.add.at(made, (self.query, self.human + 1, np.where(said == 9, 3, said + 1)), 1)
        return made

    def drawn(self, repeats: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Accuracy and kappa in each bootstrap of queries, averaged over repeats."""
        tables = np.mean([self.confusion(said) for said in repeats], axis=0)
        sums = np.tensordot(self.weights, tables, 1)
        accuracy = np.trace(sums[:, :, :3], axis1=1, axis2=2) / sums.sum((1, 2))
        return accuracy, _kappa(sums)


def _features(step: LabelledStep, said: int) -> Features:
    return features({"score": "none" if said == 9 else str(said)}, step.facts, message=step.message)


def _kappa(table: np.ndarray) -> np.ndarray:
    """Of confusion tables (…, rows, columns ≥ rows)."""
    total = table.sum((-2, -1))
    rows = table.shape[-2]
    agreed = np.trace(table[..., :rows], axis1=-2, axis2=-1) / total
    chance = (table.sum(-1) * table.sum(-2)[..., :rows]).sum(-1) / total**2
    return np.where(chance < 1, (agreed - chance) / np.where(chance < 1, 1 - chance, 1), 0)


def _two(table: np.ndarray) -> np.ndarray:
    bad, rest = table[:1], table[1:].sum(0, keepdims=True)
    both = np.concatenate([bad, rest])
    return np.stack([both[:, 0], both[:, 1:].sum(1)], axis=1)


def _first(labels: np.ndarray, trace: np.ndarray) -> np.ndarray:
    """Per trace the place of its first −1; none is as good as any number that is no place."""
    first = np.full(int(trace.max()) + 1, -1)
    for place in np.flatnonzero(labels == -1)[::-1]:
        first[trace[place]] = place
    return first


def calibrated(examples: list[Example], folds: int) -> list[np.ndarray]:
    """Predicted labels; a list, as the readings that need no fold have it."""
    return [np.array(CLASSES)[held_out(examples, NAMES, folds=folds).argmax(1)]]


def row(bench: Bench, name: str, reading: str, repeats: list[np.ndarray], base: list[np.ndarray] | None) -> str:
    every = [bench.figures(said) for said in repeats]
    mean = [
        float(np.mean([getattr(each, field) for each in every]))
        for field in ("accuracy", "kappa", "kappa_bad", "first_error")
    ]
    accuracy, kappa = bench.drawn(repeats)
    low, high = np.percentile(accuracy, [2.5, 97.5])
    k_low, k_high = np.percentile(kappa, [2.5, 97.5])
    gain = "–"
    if base is not None:
        more = accuracy - bench.drawn(base)[0]
        mean_base = float(np.mean([np.mean(said == bench.human) for said in base]))
        gain = f"{100 * (mean[0] - mean_base):+.1f} [{100 * np.percentile(more, 2.5):+.1f}, {100 * np.percentile(more, 97.5):+.1f}]"
    return (
        f"| {name} | {reading} | {100 * mean[0]:.1f} [{100 * low:.1f}, {100 * high:.1f}] | {gain} "
        f"| {mean[1]:.3f} [{k_low:.2f}, {k_high:.2f}] | {mean[2]:.3f} | {100 * mean[3]:.1f} |"
    )


def print_floors(bench: Bench, folds: int) -> None:
    plus = np.ones_like(bench.human)
    print("\n## Without a judge\n")
    _head()
    print(row(bench, "floor", "always +1", [plus], None))
    control = calibrated(bench.examples(plus, content=False), folds)
    print(row(bench, "floor and no-content control", "calibrated on the step's number alone", control, None))
    print(row(bench, "always +1", "+ outcome", [bench.viewed(plus)], [plus]))
    print(row(bench, "no-content control", "+ outcome", [bench.viewed(said) for said in control], control))
    nine = np.full_like(plus, 9)
    only = calibrated(bench.examples(nine), folds)
    print(row(bench, "facts alone", "calibrated", only, None))
    print(row(bench, "facts alone", "calibrated, + outcome", [bench.viewed(said) for said in only], only))


def print_judges(bench: Bench, data: Path, names: list[str], folds: int) -> dict[str, dict[str, list[np.ndarray]]]:
    print("\n## Judges; gains are over the judge alone, on the same queries\n")
    _head()
    made: dict[str, dict[str, list[np.ndarray]]] = {}
    for name in names:
        said = given(recorded(data, name))
        calibration = calibrated(bench.examples(said), folds)
        readings = {
            "alone": [said],
            "+ outcome": [bench.viewed(said)],
            "+ calibration": calibration,
            "+ both": [bench.viewed(each) for each in calibration],
        }
        for reading, predicted in readings.items():
            print(row(bench, name, reading, predicted, None if reading == "alone" else [said]), flush=True)
        made[name] = readings
    return made


def print_verdict(bench: Bench, made: dict[str, dict[str, list[np.ndarray]]]) -> None:
    print("\n## The targets, for the best judge of each reading (picked after seeing, so a little flattered)\n")
    for reading, (accuracy, kappa) in TARGETS.items():
        scores = {name: [bench.figures(said) for said in readings[reading]] for name, readings in made.items()}
        best = max(scores, key=lambda name: np.mean([each.accuracy for each in scores[name]]))
        a, k = (float(np.mean([getattr(each, field) for each in scores[best]])) for field in ("accuracy", "kappa"))
        met = "met" if a >= accuracy and k >= kappa else "NOT met"
        print(f"- {reading}: {best} {100 * a:.1f}%, kappa {k:.3f}; target {100 * accuracy:.0f}%, {kappa}: {met}")
    print(
        "\nThe judge picked on one half of the queries, read on the other, 500 splits (mean accuracy, 5th to 95th percentile):\n"
    )
    for reading in ("alone", "+ outcome", "+ calibration", "+ both"):
        found = _picked(bench, {name: readings[reading] for name, readings in made.items()})
        print(
            f"- {reading}: {100 * found.mean():.1f} ({100 * np.percentile(found, 5):.1f} to {100 * np.percentile(found, 95):.1f})"
        )
    print("\n## Where it does not help\n")
    for reading in ("+ outcome", "+ calibration", "+ both"):
        less = [name for name, readings in made.items() if _gain(bench, readings, reading) < 0]
        unsure = [name for name, readings in made.items() if _low(bench, readings, reading) <= 0 and name not in less]
        print(
            f"- {reading}: worse than alone: {', '.join(less) or 'none'}; not surely better: {', '.join(unsure) or 'none'}"
        )
    behind = [name for name, readings in made.items() if _gain(bench, readings, "+ both", "+ outcome") <= 0]
    print(f"- calibration adds nothing to the outcome view for: {', '.join(behind) or 'none'}")


def _picked(bench: Bench, predicted: dict[str, list[np.ndarray]]) -> np.ndarray:
    right = np.array(
        [
            np.mean([np.bincount(bench.query, said == bench.human) for said in each], axis=0)
            for each in predicted.values()
        ]
    )
    size, rng, found = np.bincount(bench.query), np.random.default_rng(1), []
    for _ in range(500):
        half = rng.permutation(len(size)) < len(size) // 2
        best = int((right[:, half].sum(1) / size[half].sum()).argmax())
        found.append(right[best, ~half].sum() / size[~half].sum())
    return np.array(found)


def _gain(bench: Bench, readings: dict[str, list[np.ndarray]], one: str, other: str = "alone") -> float:
    a, b = (np.mean([np.mean(said == bench.human) for said in readings[name]]) for name in (one, other))
    return float(a - b)


def _low(bench: Bench, readings: dict[str, list[np.ndarray]], one: str) -> float:
    return float(np.percentile(bench.drawn(readings[one])[0] - bench.drawn(readings["alone"])[0], 2.5))


def print_curves(bench: Bench, data: Path, names: list[str], repeats: int) -> None:
    print(
        "\n## How many labelled traces it takes: calibration + outcome, accuracy / kappa on queries without a label\n"
    )
    print(f"| judge | outcome alone | {' | '.join(f'{size} traces' for size in SIZES)} |")
    print("|---|---|" + "---|" * len(SIZES))
    for name in names:
        said = given(recorded(data, name))
        examples = bench.examples(said)
        base = bench.figures(bench.viewed(said))
        cells = [_curve(bench, examples, size, repeats) for size in SIZES]
        print(f"| {name} | {100 * base.accuracy:.1f} / {base.kappa:.2f} | {' | '.join(cells)} |", flush=True)


def _curve(bench: Bench, examples: list[Example], size: int, repeats: int) -> str:
    found: list[Figures] = []
    for seed in range(repeats):
        rng = np.random.default_rng([seed, size])
        fold = rng.permutation(int(bench.query.max()) + 1)[bench.query] % 5
        said = np.zeros_like(bench.human)
        for number in range(5):
            pool = np.unique(bench.trace[fold != number])
            chosen = np.isin(bench.trace, rng.choice(pool, size, replace=False))
            model = learned([examples[place] for place in np.flatnonzero(chosen)], seed)
            test = np.flatnonzero(fold == number)
            odds = predictions(model, [examples[place].features for place in test], NAMES)
            said[test] = np.array(CLASSES)[odds.argmax(1)]
        found.append(bench.figures(bench.viewed(said)))
    return f"{100 * np.mean([each.accuracy for each in found]):.1f} / {np.mean([each.kappa for each in found]):.2f}"


def _head() -> None:
    print("| who | reading | accuracy [95% by query] | gain | kappa | kappa of bad | first error found |")
    print("|---|---|---|---|---|---|---|")


def _chosen(every: list[str], wanted: list[str]) -> list[str]:
    """The names that are asked for, or hold a part that is asked for and is no whole name."""
    parts = [part for part in wanted if part not in every]
    return [name for name in every if not wanted or name in wanted or any(part in name for part in parts)]


def main() -> None:
    parser = argparse.ArgumentParser(description="What a judge gains from the outcome and from a calibration.")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--judges", default="", help="Parts of names, separated by commas. [default: all]")
    parser.add_argument("--folds", type=int, default=50, help="Of queries. [default: each query by itself]")
    parser.add_argument("--no-curves", action="store_true", help="Leave the learning curves out.")
    asked = parser.parse_args()
    start = perf_counter()
    bench = Bench(read_steps(asked.data), seed=0)
    wanted = [part for part in asked.judges.split(",") if part]
    names = _chosen(judge_names(asked.data), wanted)
    told = {
        word: sum(step.last and step.outcome is value for step in bench.steps)
        for word, value in (("pass", 1), ("fail", 0), ("cannot tell", None))
    }
    print(
        f"{len(bench.human)} steps, {int(bench.trace.max()) + 1} traces, {int(bench.query.max()) + 1} queries; the check says {told}"
    )
    print("Every calibrated figure is of queries that its weights were not learned from; intervals draw queries.")
    print_floors(bench, asked.folds)
    made = print_judges(bench, asked.data, names, asked.folds)
    print_verdict(bench, made)
    if not asked.no_curves:
        print_curves(bench, asked.data, names, repeats=2)
    print(f"\n{perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
