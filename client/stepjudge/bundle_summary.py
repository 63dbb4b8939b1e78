# pyright: basic
"""A bundle's summary holds NeMo Evaluator's aggregates over the score rows; numpy enters here."""

import math
from collections import defaultdict
from collections.abc import Sequence

from stepjudge.trial import Trial
from stepjudge.value import JsonObject

_PERCENTILES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)


def nemo_summary(rows: Sequence[JsonObject], tasks: Sequence[JsonObject], trials: Sequence[Trial]) -> JsonObject:
    """The keys of NeMo's `summary.json`. A score that failed or lacks an output is missing there, and never 0."""
    observed = _observed(rows, tasks)
    errors: JsonObject = {}
    for trial in trials:
        if trial.error is not None:
            errors[trial.error.type] = [
                each.id for each in trials if each.error and each.error.type == trial.error.type
            ]
    return {
        "scores": {"scores": [_aggregate(name, cells) for name, cells in sorted(observed.items())]},
        "metric_coverage": _coverage(observed),
        "task_metric_values": _task_values(observed),
        "error_trial_ids": errors,
        "task_count": len(tasks),
        "trial_count": len(trials),
        "score_count": len(rows),
        "error_count": sum(trial.error is not None for trial in trials),
    }


def _observed(rows, tasks):
    """(metric, output) → a cell for each row of that metric: task, trial, value or None, whether the row failed."""
    outputs = {
        (task["id"], metric["type"]): [output["name"] for output in metric["outputs"]]
        for task in tasks
        for metric in task["metrics"]
    }
    observed = defaultdict(list)
    for row in rows:
        values = {output["name"]: output["value"] for output in row["outputs"]}
        for name in outputs.get((row["task_id"], row["metric_type"]), values):
            trial_failed = any(each["details"].get("trial_status") for each in row["diagnostics"])
            cell = (row["task_id"], row["trial_id"], values.get(name), row["status"] == "failed", trial_failed)
            observed[row["metric_type"], name].append(cell)
    return observed


def _coverage(observed) -> JsonObject:
    coverage: dict = defaultdict(dict)
    for (metric, output), cells in sorted(observed.items()):
        failed = sum(failed for _, _, _, failed, _ in cells)
        scored = sum(value is not None for _, _, value, failed, _ in cells if not failed)
        counts = {"total": len(cells), "scored": scored, "failed": failed, "missing": len(cells) - scored - failed}
        coverage[metric][output] = counts
    return dict(coverage)


def _task_values(observed) -> JsonObject:
    by_task: dict = defaultdict(lambda: defaultdict(list))
    for (metric, output), cells in sorted(observed.items()):
        for task, trial, value, _, trial_failed in cells:
            if value is not None:
                entry = {"trial_id": trial, "value_type": "number", "value": value}
            elif trial_failed:
                entry = {"trial_id": trial, "value_type": "missing", "value": None}
            else:
                continue
            by_task[task][f"{metric}.{output}"].append(entry)
    return {task: dict(values) for task, values in by_task.items()}


def _aggregate(name, cells) -> JsonObject:
    import numpy as np

    values = np.array([value for _, _, value, failed, _ in cells if value is not None and not failed], dtype=float)
    count = len(values)
    entry: JsonObject = {"name": ".".join(name), "score_type": "range", "count": count, "nan_count": len(cells) - count}
    if not count:
        return entry
    # their percentiles have rank p·(n+1), which numpy calls weibull (Hyndman and Fan 1996, type 6)
    ranks = np.percentile(values, _PERCENTILES, method="weibull")
    percentiles: JsonObject = {f"p{p}": float(value) for p, value in zip(_PERCENTILES, ranks, strict=True)}
    variance = float(values.var())
    sample = float(values.var(ddof=1)) if count > 1 else None
    return {
        **entry,
        "sum": float(values.sum()),
        "mean": float(values.mean()),
        "min": float(values.min()),
        "max": float(values.max()),
        "median": percentiles["p50"],
        "variance": variance,
        "std_dev": math.sqrt(variance),
        "sample_variance": sample,
        "sample_std_dev": None if sample is None else math.sqrt(sample),
        "percentiles": percentiles,
        "histogram": None,
    }
