# pyright: basic, reportMissingImports=false
"""What juries and cascades of judges are good for: twenty recorded judges of AgentProcessBench, replayed.

    python benchmarks/jury_cascade.py [--data …] [--dataset hotpotqa] [--price MODEL=USD …] [--plot jury.png]

A price is what one judged step costs. Without --price each model costs an assumed amount that follows its size, printed
with the table: only ratios matter, so give the prices you pay. Figures of the published study stand beside ours on
hotpotqa; `!` marks a figure that differs in its last printed digit.
"""

import argparse
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from time import perf_counter

import numpy as np
from hotpotqa import DATA, given, judge_names, recorded

API = ("DeepSeek-V3.2", "DeepSeek-V3.2-Thinking", "GPT-5.2", "GPT-5.2-Chat", "GPT-5.2-Thinking-medium", "Gemini-3-Flash-Preview",
       "Gemini-3-Flash-Preview-Thinking", "Kimi-K2.5", "Kimi-K2.5-Thinking")  # fmt: skip
ASSUMED: dict[str, float] = {"GPT-5.2-Thinking-medium": 12, "GPT-5.2": 6, "GPT-5.2-Chat": 6, "Kimi-K2.5-Thinking": 4, "Kimi-K2.5": 2,
           "Gemini-3-Flash-Preview-Thinking": 3, "Gemini-3-Flash-Preview": 1.5, "DeepSeek-V3.2-Thinking": 1.5, "DeepSeek-V3.2": 1,
           "Llama-3.3-70B-Instruct": 0.7, "Qwen3-30B-A3B-Thinking-2507": 0.8, "Qwen3-30B-A3B-Instruct-2507": 0.3}  # fmt: skip
SMALL = 0.1
"""USD per 1,000 steps, of a model not named above."""

UNANIMITY = {9: (47, 93.4), 8: (63, 89.5), 7: (74, 86.0)}
CASCADES = [
    ("DeepSeek-V3.2", "Gemini-3-Flash-Preview", 20.4, 77.38),
    ("DeepSeek-V3.2", "Kimi-K2.5", 24.1, 78.34),
    ("Qwen3-30B-A3B-Thinking-2507", "DeepSeek-V3.2", 24.4, 75.75),
    ("Qwen3-30B-A3B-Instruct-2507", "Qwen3-30B-A3B-Thinking-2507", 23.6, 73.71),
    ("Qwen3-4B-Instruct-2507", "Qwen3-30B-A3B-Instruct-2507", 19.8, 71.66),
]
ARBITER = "Gemini-3-Flash-Preview-Thinking"
JURIES = {3: (0.7, 9.5, 77.79), 5: (0.5, 15.9, 78.34)}


class Replay:
    """Every judge's labels of the same steps, with the human ones."""

    def __init__(self, data: Path, dataset: str, prices: dict[str, float]) -> None:
        self.names = judge_names(data)
        steps = {name: recorded(data, name, dataset) for name in self.names}
        first = steps[self.names[0]]
        self.human = np.array([step.human for step in first])
        self.query = np.unique([step.task_id for step in first], return_inverse=True)[1]
        self.said = {name: given(each) for name, each in steps.items()}
        self.price: dict[str, float] = {name: prices.get(name, ASSUMED.get(name, SMALL)) for name in self.names}

    def accuracy(self, said: np.ndarray) -> float:
        """In %; a label that is missing is wrong."""
        return float(100 * np.mean(said == self.human))

    def votes(self, jury: Sequence[str]) -> np.ndarray:
        """Steps × the three labels."""
        said = np.stack([self.said[name] for name in jury], 1)
        return np.stack([(said == label).sum(1) for label in (-1, 0, 1)], 1)

    def verdict(self, jury: Sequence[str]) -> np.ndarray:
        """The most frequent label; of a tie the median of all that was said."""
        votes = self.votes(jury)
        tie = (votes == votes.max(1, keepdims=True)).sum(1) > 1
        spoken, below = votes.sum(1), votes.cumsum(1)
        middle = [(place[:, None] >= below).sum(1) - 1 for place in ((spoken - 1) // 2, spoken // 2)]
        made = np.where(tie, np.round((middle[0] + middle[1]) / 2).astype(int), votes.argmax(1) - 1)
        return np.where(spoken > 0, made, 9)


def flagged(ours: float, study: float | None, digits: int) -> str:
    if study is None:
        return "–"
    return f"{study:.{digits}f}" + ("" if abs(round(ours, digits) - study) < 10**-digits / 2 else "!")


def print_judges(replay: Replay) -> None:
    print("\n## One model for every step\n")
    print("| judge | accuracy | USD per 1,000 steps | right steps per cent |")
    print("|---|---|---|---|")
    for name in sorted(replay.names, key=lambda name: -replay.accuracy(replay.said[name])):
        accuracy, price = replay.accuracy(replay.said[name]), replay.price[name]
        print(f"| {name} | {accuracy:.2f} | {price:g} | {10 * accuracy / (100 * price):.1f} |")


def print_unanimity(replay: Replay, study: bool) -> list[tuple[float, float]]:
    print("\n## Agreement as confidence: the nine judges behind an API\n")
    print("| at least | share of steps settled | study | accuracy there | study | accuracy on the rest, by majority |")
    print("|---|---|---|---|---|---|")
    votes, verdict = replay.votes(API), replay.verdict(API)
    curve: list[tuple[float, float]] = []
    for least in range(9, 4, -1):
        settled = votes.max(1) >= least
        share, right = float(100 * settled.mean()), float(100 * np.mean((verdict == replay.human)[settled]))
        rest = float(100 * np.mean((verdict == replay.human)[~settled])) if (~settled).any() else float("nan")
        known = UNANIMITY.get(least, (None, None)) if study else (None, None)
        print(
            f"| {least} of 9 | {share:.1f} | {flagged(share, known[0], 0)} | {right:.1f} | {flagged(right, known[1], 1)} | {rest:.1f} |"
        )
        curve.append((share, right))
    return curve


def print_small(replay: Replay) -> None:
    """What unanimity of a small jury is worth, over all juries of the nine."""
    print("\nSmall juries of the nine, mean over all of them (least to greatest):\n")
    print("| jury | all agree on | accuracy there | accuracy on the rest |")
    print("|---|---|---|---|")
    for size in (2, 3, 5):
        rows: list[list[float]] = []
        for jury in combinations(API, size):
            agreed = replay.votes(jury).max(1) == size
            right = replay.verdict(jury) == replay.human
            rows.append([100 * agreed.mean(), 100 * right[agreed].mean(), 100 * right[~agreed].mean()])
        table = np.array(rows)
        cells = [f"{c.mean():.0f}% ({c.min():.0f} to {c.max():.0f})" for c in table.T]
        print(f"| {size} | {' | '.join(cells)} |")


def _cascade(replay: Replay, first: str, second: str, arbiter: str) -> tuple[np.ndarray, np.ndarray]:
    escalated = (replay.said[first] != replay.said[second]) | (replay.said[first] == 9)
    return np.where(escalated, replay.said[arbiter], replay.said[first]), escalated


def print_cascades(replay: Replay, study: bool) -> list[tuple[float, float]]:
    print(f"\n## Cascades: two judges; where they differ, {ARBITER} decides that step\n")
    print(
        "| pair | escalated | study | accuracy | study | arbiter alone | gain [95% by query] | accuracy where the pair agrees | USD per 1,000 | arbiter alone |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    points: list[tuple[float, float]] = []
    alone = replay.said[ARBITER]
    for first, second, share, accuracy in CASCADES:
        made, escalated = _cascade(replay, first, second, ARBITER)
        cost = replay.price[first] + replay.price[second] + escalated.mean() * replay.price[ARBITER]
        ours = float(100 * escalated.mean()), replay.accuracy(made)
        low, high = _interval(replay, made, alone)
        agreed = float(100 * np.mean((made == replay.human)[~escalated]))
        print(
            f"| {first} + {second} | {ours[0]:.1f} | {flagged(ours[0], share if study else None, 1)} | {ours[1]:.2f} "
            f"| {flagged(ours[1], accuracy if study else None, 2)} | {replay.accuracy(alone):.2f} "
            f"| {ours[1] - replay.accuracy(alone):+.1f} [{low:+.1f}, {high:+.1f}] | {agreed:.1f} | {cost:.2f} | {replay.price[ARBITER]:g} |"
        )
        points.append((cost, ours[1]))
    return points


def _interval(replay: Replay, one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    rng, count = np.random.default_rng(0), int(replay.query.max()) + 1
    weights = rng.multinomial(count, np.full(count, 1 / count), size=2_000)
    gain = np.bincount(replay.query, (one == replay.human).astype(float) - (other == replay.human))
    low, high = np.percentile(100 * (weights @ gain) / (weights @ np.bincount(replay.query)), [2.5, 97.5])
    return float(low), float(high)


def print_rates(replay: Replay) -> None:
    print("\n## Cascades at several escalation rates: all pairs of cheaper judges, by how often they differ\n")
    print(
        "| escalated | pairs | mean accuracy | arbiter alone | pairs that reach the arbiter | mean share of its price |"
    )
    print("|---|---|---|---|---|---|")
    others = [name for name in replay.names if replay.price[name] < replay.price[ARBITER]]
    rows: list[tuple[float, float, float]] = []
    for first, second in combinations(others, 2):
        made, escalated = _cascade(replay, first, second, ARBITER)
        cost = replay.price[first] + replay.price[second] + escalated.mean() * replay.price[ARBITER]
        rows.append((float(100 * escalated.mean()), replay.accuracy(made), cost / replay.price[ARBITER]))
    table, alone = np.array(rows), replay.accuracy(replay.said[ARBITER])
    for low, high in ((0, 15), (15, 20), (20, 25), (25, 35), (35, 50), (50, 100)):
        mine = table[(table[:, 0] >= low) & (table[:, 0] < high)]
        if len(mine):
            print(
                f"| {low}–{high}% | {len(mine)} | {mine[:, 1].mean():.1f} | {alone:.2f} | {(mine[:, 1] >= alone).sum()} "
                f"| {100 * mine[:, 2].mean():.0f}% |"
            )


def print_juries(replay: Replay, study: bool, largest: int) -> None:
    single = max(replay.accuracy(replay.said[name]) for name in replay.names)
    print(f"\n## Juries, by majority; the best single judge has {single:.2f}\n")
    print(
        "| jury | of | juries | beat the best single judge | study | best of them, picked after seeing | study | USD per 1,000, mean |"
    )
    print("|---|---|---|---|---|---|---|---|")  # fmt: skip
    for size in (3, 5):
        for named, pool, place in (("all", replay.names, 0), ("behind an API", list(API), 1)):
            juries = list(combinations(pool, size))
            rng = np.random.default_rng(0)
            drawn = (
                [juries[k] for k in sorted(rng.choice(len(juries), largest, replace=False))]
                if len(juries) > largest
                else juries
            )
            made = np.array([replay.accuracy(replay.verdict(jury)) for jury in drawn])
            beats, known = float(100 * np.mean(made > single)), JURIES[size]
            whole = study and len(drawn) == len(juries)
            cost = float(np.mean([sum(replay.price[name] for name in jury) for jury in drawn]))
            print(
                f"| {size} | {named} | {len(drawn):,} of {len(juries):,} | {beats:.1f}% | {flagged(beats, known[place] if whole else None, 1)} "
                f"| {made.max():.2f} | {flagged(made.max(), known[2] if whole and not place else None, 2)} | {cost:.1f} |"
            )
    print("\nPicked on one half of the queries, read on the other, 200 splits (juries of 3):\n")
    _print_honest(replay)


def _print_honest(replay: Replay) -> None:
    juries = list(combinations(replay.names, 3))
    size = np.bincount(replay.query)
    by_jury = np.array([np.bincount(replay.query, replay.verdict(jury) == replay.human) for jury in juries])
    by_judge = np.array([np.bincount(replay.query, replay.said[name] == replay.human) for name in replay.names])
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        half = rng.permutation(len(size)) < len(size) // 2
        best = [
            table[(table[:, half].sum(1)).argmax(), ~half].sum() / size[~half].sum() for table in (by_jury, by_judge)
        ]
        found.append(best)
    jury, single = 100 * np.array(found).T
    print(
        f"- jury {jury.mean():.2f}, single {single.mean():.2f}, difference {np.mean(jury - single):+.2f} ± {np.std(jury - single):.1f}, "
        f"the jury wins {100 * np.mean(jury > single):.0f}% (study on hotpotqa: 74.87, 74.20, +0.67 ± 2.8, 66%)"
    )


def print_reading(replay: Replay) -> None:
    wrong = np.stack([replay.said[name] != replay.human for name in API], 1).astype(float)
    phi = np.corrcoef(wrong.T)[np.triu_indices(len(API), 1)].mean()
    votes = len(API) / (1 + (len(API) - 1) * phi)
    print("\n## What they are good for\n")
    print(
        f"Juries do not beat the best single judge: judges err on the same steps (mean phi {phi:.3f}), so that nine of them are worth"
    )
    print(
        f"{votes:.2f} independent votes. They cost their number of times as much. What a jury does tell is when to be unsure: where all agree,"
    )
    print(
        "nine in ten steps and more are right, and where they are split a reader is needed. Use a jury to pick the steps that people look at."
    )
    print(
        "A cascade saves money, where its pair is much cheaper than its arbiter; a pair of weak judges that agrees is worse than the arbiter."
    )


def plot(path: Path, replay: Replay, curve: list[tuple[float, float]], cascades: list[tuple[float, float]]) -> None:
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("--plot needs matplotlib: pip install matplotlib") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.5))
    left.plot(*zip(*curve, strict=True), marker="o")
    for (share, accuracy), least in zip(curve, range(9, 4, -1), strict=True):
        left.annotate(f"≥{least} of 9", (share, accuracy), textcoords="offset points", xytext=(6, 4))
    left.set(
        xlabel="steps settled by agreement (%)", ylabel="accuracy there (%)", title="A jury tells when to be unsure"
    )
    right.scatter(
        [replay.price[name] for name in replay.names],
        [replay.accuracy(replay.said[name]) for name in replay.names],
        label="one judge",
    )
    right.scatter(*zip(*cascades, strict=True), marker="s", label="cascade")
    right.scatter(
        [sum(replay.price[name] for name in API)],
        [replay.accuracy(replay.verdict(API))],
        marker="^",
        label="jury of nine",
    )
    right.set(xscale="log", xlabel="USD per 1,000 steps", ylabel="accuracy (%)", title="Accuracy by price")
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    print(f"\nplot: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description="What juries and cascades of judges are good for.")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--dataset", default="hotpotqa", choices=["hotpotqa", "gaia_dev"])
    parser.add_argument(
        "--price", action="append", default=[], metavar="MODEL=USD", help="Per 1,000 judged steps; may be repeated."
    )
    parser.add_argument("--juries", type=int, default=16_000, help="Most juries of a size; more are sampled.")
    parser.add_argument("--plot", type=Path)
    asked = parser.parse_args()
    start = perf_counter()
    prices = {name: float(price) for name, _, price in (each.partition("=") for each in asked.price)}
    replay = Replay(asked.data, asked.dataset, prices)
    if unknown := prices.keys() - set(replay.names):
        raise SystemExit(f"--price: no judge {', '.join(sorted(unknown))}; the judges are {', '.join(replay.names)}")
    study = asked.dataset == "hotpotqa"
    print(
        f"{asked.dataset}: {len(replay.human):,} steps, {len(replay.names)} judges; prices: {'given' if prices else 'ASSUMED, see --price'}"
    )
    print_judges(replay)
    curve = print_unanimity(replay, study)
    print_small(replay)
    cascades = print_cascades(replay, study)
    print_rates(replay)
    print_juries(replay, study, asked.juries)
    print_reading(replay)
    if asked.plot:
        plot(asked.plot, replay, curve, cascades)
    print(f"\n{perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
