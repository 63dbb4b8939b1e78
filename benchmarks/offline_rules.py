# pyright: basic
"""How far rules alone agree with people: AgentProcessBench hotpotqa, 250 traces with 734 human step labels.

    python benchmarks/offline_rules.py [--data ../shared/data/agentprocessbench]

A label of +1 is read as `passes`, −1 as `bad`, 0 as neither. Rules were chosen on these same labels, so what is printed
for them is optimistic. The intervals of a rule are Wilson's, over steps, and a bootstrap over queries.
"""

import argparse
import json
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import binomtest, bootstrap
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, cohen_kappa_score
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from judge_service.facts import FACTS_VERSION, facts, settle
from judge_service.judges.rules import RULES_VERSION, answered, is_search
from judge_service.question import Question
from stepjudge.formats.openai_chat import FORMAT
from stepjudge.formats.reading.format import Origin
from stepjudge.metric import bad, passes, rolled_up
from stepjudge.rubric_file import read_rubric_file, shipped
from stepjudge.trace import Step
from stepjudge.verdict import Answer, Fact

ROOT = Path(__file__).parents[1]
RUBRIC = shipped() / "step" / "1.0.0.yaml"


@dataclass(frozen=True)
class Labelled:
    """One step with its human label, its facts, and what the rules judge made of it."""

    query: int
    step: Step
    last: bool
    label: int
    facts: tuple[Fact, ...]
    answers: tuple[Answer, ...]
    passes: bool | None
    bad: bool | None

    def has(self, *names: str) -> bool:
        return any(fact.name in names for fact in self.facts)

    def share(self) -> float | None:
        """Share of the documents that are new, the lowest of the step's searches."""
        shares = [float(fact.detail.split(":")[0]) for fact in self.facts if fact.name == "new_information"]
        return min(shares) if shares and self.has("documents") else None


def read(data: Path) -> list[Labelled]:
    rubric = read_rubric_file(RUBRIC)
    steps: list[Labelled] = []
    for line in (data / "hotpotqa.jsonl").read_text().splitlines():
        row = json.loads(line)
        (trace,) = FORMAT.read({"messages": row["messages"], "tools": row["tools"]}, Origin())
        # Labels are keyed by the position of the assistant's message; each of those is one step.
        places = [place for place, message in enumerate(row["messages"]) if message["role"] == "assistant"]
        if len(places) != len(trace.steps):
            raise SystemExit(f"row {row['total_index']}: {len(places)} assistant messages but {len(trace.steps)} steps")
        for place, step, found in zip(places, trace.steps, facts(trace), strict=True):
            settled, asked = settle(rubric, step, found)
            answers = settled + answered(Question(rubric, trace, step.index, found, asked)).answers
            rolled = rolled_up(rubric, answers)
            labelled = Labelled(
                row["query_index"], step, step is trace.steps[-1], row["step_labels"][str(place)], found, answers,
                passes(rubric, rolled), bad(rubric, rolled),
            )  # fmt: skip
            steps.append(labelled)
    return steps


@dataclass(frozen=True)
class Rule:
    name: str
    predicts: str
    applies: Callable[[Labelled], bool]


def fact(name: str, predicts: str, *, message: bool | None = None) -> Rule:
    """The rule that a fact by itself would be."""
    return Rule(name, predicts, lambda step: step.has(name) and message in (None, not step.step.calls))


def search(step: Labelled) -> bool:
    return step.has("documents") and not step.has("rejected") and all(map(is_search, step.step.calls))


RULES = [
    Rule("first step: a search brings new documents", "+1", lambda s: s.step.index == 1 and search(s) and s.has("new_documents")),
    Rule("all documents new, any step", "+1", lambda s: search(s) and s.share() == 1),
    Rule("all documents new, not the first step", "+1", lambda s: search(s) and s.share() == 1 and s.step.index > 1),
    Rule("a document is new, no near duplicate", "+1", lambda s: search(s) and s.has("new_documents") and not s.has("near_duplicate", "repeat")),
    Rule("a document is new, no near duplicate, not the first step", "+1", lambda s: search(s) and s.has("new_documents") and not s.has("near_duplicate", "repeat") and s.step.index > 1),
    Rule("no document is new", "not +1", lambda s: s.share() == 0),
    Rule("near_duplicate and no document is new", "not +1", lambda s: s.has("near_duplicate") and s.share() == 0),
    fact("near_duplicate", "not +1"),
    fact("near_duplicate", "-1"),
    fact("repeat", "not +1"),
    fact("rejected", "-1"),
    fact("rejected", "not +1"),
    fact("looks_like_error", "-1"),
    fact("looks_like_error", "not +1"),
    fact("unknown_tool", "-1"),
    fact("schema_violation", "-1"),
    fact("unparsed_arguments", "-1"),
    fact("empty_result", "not +1"),
    fact("failed_result", "not +1"),
    fact("unparsed_tool_markup", "-1"),
    Rule("unparsed_tool_markup, not the last step", "-1", lambda s: s.has("unparsed_tool_markup") and not s.last),
    Rule("no call, not the last step", "-1", lambda s: not s.step.calls and not s.last),
    fact("hedge", "-1"),
    Rule("hedge, last step", "-1", lambda s: s.has("hedge") and s.last),
    fact("answer_not_in_observations", "-1"),
    fact("answer_in_observations", "+1"),
    Rule("nothing_observed, last step", "-1", lambda s: s.has("nothing_observed") and s.last),
    fact("addresses_judge", "-1"),
    fact("invisible_characters", "-1"),
]  # fmt: skip


def right(predicts: str, label: int) -> bool:
    return label != 1 if predicts == "not +1" else label == int(predicts)


def interval(hits: np.ndarray, queries: np.ndarray) -> tuple[str, str]:
    wilson = binomtest(int(hits.sum()), len(hits)).proportion_ci(method="wilson")
    names = np.unique(queries)
    if len(names) < 3 or hits.all() or not hits.any():
        return f"[{wilson.low:.2f}, {wilson.high:.2f}]", "–"
    right_by = np.array([hits[queries == name].sum() for name in names])
    of_by = np.array([(queries == name).sum() for name in names])
    drawn = bootstrap(
        (right_by, of_by), lambda some, of, axis=-1: some.sum(axis) / of.sum(axis), paired=True, method="percentile",
        n_resamples=2000, rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    return f"[{wilson.low:.2f}, {wilson.high:.2f}]", f"[{drawn.low:.2f}, {drawn.high:.2f}]"


def print_rules(steps: list[Labelled]) -> None:
    print("\n| rule | predicts | n | coverage | precision | Wilson 95% | by query 95% | queries |")
    print("|---|---|---|---|---|---|---|---|")
    for rule in RULES:
        covered = [step for step in steps if rule.applies(step)]
        if not covered:
            print(f"| {rule.name} | {rule.predicts} | 0 | 0.0% | not measurable | | | |")
            continue
        hits = np.array([right(rule.predicts, step.label) for step in covered])
        queries = np.array([step.query for step in covered])
        print(
            f"| {rule.name} | {rule.predicts} | {len(hits)} | {len(hits) / len(steps):.1%} | {hits.mean():.3f} | "
            f"{' | '.join(interval(hits, queries))} | {len(set(queries))} |"
        )


def by_index(steps: list[Labelled], truth: np.ndarray) -> np.ndarray:
    """What somebody would say who sees nothing but the step's number, learnt on the other queries."""
    index = np.array([[min(step.step.index, 12)] for step in steps])
    queries = np.array([step.query for step in steps])
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    return np.asarray(cross_val_predict(model, index, truth, groups=queries, cv=GroupKFold(5)))


def print_judge(steps: list[Labelled]) -> None:
    read_any = [step for step in steps if step.passes is not None or step.bad is not None]
    print(f"\nsteps with a determined reading: {len(read_any)} of {len(steps)} ({len(read_any) / len(steps):.1%})")
    print(
        "\n| reading | determined | said yes, precision | said no, precision | raw agreement | kappa | always +1, raw | index alone, raw | index alone, kappa |"
    )
    print("|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    for name, label in (("passes", 1), ("bad", -1)):
        said = [getattr(step, name) for step in steps]
        known = np.array([word is not None for word in said])
        truth = np.array([step.label == label for step in steps])
        index = by_index(steps, truth)[known]
        word, true = np.array(said)[known].astype(bool), truth[known]
        always = np.full(len(true), label == 1)
        print(
            f"| {name} | {known.sum()} ({known.mean():.1%}) | {_precision(true[word])} | {_precision(~true[~word])} | "
            f"{accuracy_score(true, word):.3f} | {_kappa(true, word)} | {accuracy_score(true, always):.3f} | "
            f"{accuracy_score(true, index):.3f} | {_kappa(true, index)} |"
        )


def _kappa(true: np.ndarray, said: np.ndarray) -> str:
    # Where the judge only ever says one thing, nothing is left to agree on beyond chance.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f"{cohen_kappa_score(true, said, labels=[False, True]):.3f}"


def _precision(hits: np.ndarray) -> str:
    if not len(hits):
        return "never said"
    bounds = binomtest(int(hits.sum()), len(hits)).proportion_ci(method="wilson")
    return f"{hits.sum()}/{len(hits)} = {hits.mean():.3f} [{bounds.low:.2f}, {bounds.high:.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description="How far rules alone agree with people.")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "agentprocessbench")
    steps = read(parser.parse_args().data)
    labels = Counter(step.label for step in steps)
    print(f"facts {FACTS_VERSION}, rules {RULES_VERSION}, rubric {read_rubric_file(RUBRIC).reference}")
    print(f"{len(steps)} steps of {len({step.query for step in steps})} queries; labels {dict(sorted(labels.items()))}")
    print_rules(steps)
    print_judge(steps)


if __name__ == "__main__":
    main()
