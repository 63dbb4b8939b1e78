# pyright: basic
"""Fitting a calibration: L2-regularised logistic regression, its strength chosen and its quality measured by task.

Needs scikit-learn (the extra `labels`); what it writes does not.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepjudge.calibration import CLASSES, CalibratedReading, Calibration, Quality, Term, Validation
from stepjudge.calibration_features import Features
from stepjudge.errors import StepjudgeError
from stepjudge.interval import Cluster, Interval, paired_bootstrap

STRENGTHS = (0.1, 0.3, 1.0, 3.0)
FOLDS, INNER_FOLDS = 5, 4
FEWEST_STEPS, FEWEST_TASKS = 20, 5
_LEAST = 1e-6  # probability of a class that the training steps did not have


class CannotCalibrate(StepjudgeError):
    """There are too few labels, or of one kind only: how many there are, and how many it takes."""


class Example(NamedTuple):
    """A labelled step."""

    task: str
    """Steps of one task are never on both sides of a split."""
    position: int
    """Read by the control alone."""
    features: Features
    label: str
    """One of the reading's classes."""
    raw: str | None
    """The verdict's own class; null when it has none."""
    representative: bool = True
    """Whether quality may be measured on it: labelled blind, and drawn with known probability. Others are learned from."""


class Model(NamedTuple):
    """Weights of the classes that the training steps had."""

    names: tuple[str, ...]
    classes: tuple[str, ...]
    intercepts: np.ndarray
    weights: np.ndarray
    strength: float


class About(NamedTuple):
    """What a calibration is tied to."""

    rubric: str
    rubric_digest: str
    judge: str
    judge_digest: str
    labels_digest: str


def fit(examples: Sequence[Example], reading: CalibratedReading, about: About, *, seed: int = 0) -> Calibration:
    """The calibration that these labels give. Raises CannotCalibrate."""
    _check(examples)
    model = learned(examples, seed)
    weights = {name: row for name, row in zip(model.names, model.weights.T, strict=True) if np.abs(row).max() > 1e-9}
    return Calibration(
        reading=reading,
        classes=model.classes,
        intercepts=tuple(round(float(each), 6) for each in model.intercepts),
        terms=tuple(
            Term(feature=name, weights=tuple(round(float(each), 6) for each in row))
            for name, row in sorted(weights.items())
        ),
        **about._asdict(),
        steps=len(examples),
        tasks=len({each.task for each in examples}),
        strength=model.strength,
        validation=validated(examples, CLASSES[reading], seed),
    )


def validated(examples: Sequence[Example], classes: Sequence[str], seed: int = 0) -> Validation:
    """Of representative steps whose task was held out; the weights may have learned from all others."""
    kept = [place for place, each in enumerate(examples) if each.representative]
    fair = [examples[place] for place in kept]
    labels = [each.label for each in fair]
    most = max(sorted(set(labels)), key=labels.count)
    by_number = [each._replace(features={f"step {min(each.position, 12)}": 1.0}) for each in examples]
    odds, control = held_out(examples, classes, seed)[kept], held_out(by_number, classes, seed)[kept]
    raw, always = [each.raw for each in fair], [most] * len(labels)
    others: list[Sequence[str | None]] = [raw, _likeliest(control, classes), always]
    best = max(others, key=lambda said: _matches(labels, said))
    return Validation(
        folds=min(FOLDS, len({each.task for each in examples})),
        measured=len(fair),
        calibrated=_quality(labels, classes, odds),
        control=_quality(labels, classes, control),
        raw=_agreement(labels, raw, classes),
        always=_agreement(labels, always, classes),
        gain=_gain(fair, best, _likeliest(odds, classes), seed),
    )


def held_out(examples: Sequence[Example], classes: Sequence[str], seed: int = 0, folds: int = FOLDS) -> np.ndarray:
    """Probabilities (steps × classes), each from weights that no step of its task had a part in."""
    predicted = np.zeros((len(examples), len(classes)))
    for train, test in _splits(examples, folds, seed):
        model = learned([examples[place] for place in train], seed)
        predicted[test] = predictions(model, [examples[place].features for place in test], classes)
    return predicted


def learned(examples: Sequence[Example], seed: int = 0) -> Model:
    """The weights that these steps give, with the strength that predicts their held-out tasks best."""
    names = tuple(sorted({name for each in examples for name in each.features}))
    x, y = _matrix([each.features for each in examples], names), np.array([each.label for each in examples])
    losses = dict.fromkeys(STRENGTHS, 0.0)
    splits = _splits(examples, INNER_FOLDS, seed)
    for strength in STRENGTHS if splits else ():
        for train, test in splits:
            known, intercepts, weights = _regression(x[train], y[train], strength)
            odds = _softmax(x[test] @ weights.T + intercepts)
            chances = [odds[row, known.index(label)] if label in known else 0 for row, label in enumerate(y[test])]
            losses[strength] -= float(np.log(np.maximum(chances, _LEAST)).sum())
    strength = min(losses, key=lambda each: losses[each]) if splits else 1.0
    known, intercepts, weights = _regression(x, y, strength)
    return Model(names, known, intercepts, weights, strength)


def predictions(model: Model, given: Sequence[Features], classes: Sequence[str]) -> np.ndarray:
    """Probabilities (steps × classes)."""
    odds = _softmax(_matrix(given, model.names) @ model.weights.T + model.intercepts)
    made = np.full((len(given), len(classes)), 0.0)
    for column, name in enumerate(model.classes):
        made[:, classes.index(name)] = odds[:, column]
    return made


def _regression(x: np.ndarray, y: np.ndarray, strength: float) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    known = tuple(np.unique(y).tolist())
    if len(known) == 1 or not x.shape[1]:
        counts = np.array([(y == each).sum() for each in known])
        return known, np.log(counts / counts.sum()), np.zeros((len(known), x.shape[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # close enough: the loss is flat there
        found = LogisticRegression(C=strength, max_iter=300, tol=1e-3).fit(x, y)
    if len(known) == 2:  # one row of weights, for the second class
        return known, np.array([0.0, found.intercept_[0]]), np.vstack([np.zeros(x.shape[1]), found.coef_])
    return known, found.intercept_, found.coef_


def _splits(examples: Sequence[Example], folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    from sklearn.model_selection import GroupKFold

    tasks = [each.task for each in examples]
    count = min(folds, len(set(tasks)))
    if count < 2:
        return []
    return list(GroupKFold(count, shuffle=True, random_state=seed).split(np.zeros((len(tasks), 1)), groups=tasks))


def _matrix(given: Sequence[Features], names: Sequence[str]) -> np.ndarray:
    places = {name: place for place, name in enumerate(names)}
    made = np.zeros((len(given), len(names)))
    for row, features in enumerate(given):
        for name, value in features.items():
            if name in places:
                made[row, places[name]] = value
    return made


def _softmax(sums: np.ndarray) -> np.ndarray:
    odds = np.exp(sums - sums.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def _quality(labels: Sequence[str], classes: Sequence[str], predicted: np.ndarray) -> Quality:
    chance = predicted[np.arange(len(labels)), [classes.index(label) for label in labels]]
    loss = float(-np.log(np.maximum(chance, _LEAST)).mean())
    return _agreement(labels, _likeliest(predicted, classes), classes).model_copy(update={"log_loss": loss})


def _likeliest(predicted: np.ndarray, classes: Sequence[str]) -> list[str]:
    return [classes[int(place)] for place in predicted.argmax(axis=1)]


def _matches(labels: Sequence[str], said: Sequence[str | None]) -> int:
    return sum(label == word for label, word in zip(labels, said, strict=True))


def _gain(
    examples: Sequence[Example], before: Sequence[str | None], after: Sequence[str | None], seed: int
) -> Interval | None:
    """Of the difference in accuracy: steps of one task are alike, so tasks are drawn. Null with one task."""
    by_task: dict[str, list[tuple[bool, bool]]] = {}
    for each, first, second in zip(examples, before, after, strict=True):
        by_task.setdefault(each.task, []).append((first == each.label, second == each.label))
    pairs = [
        (Cluster(sum(a for a, _ in mine), len(mine)), Cluster(sum(b for _, b in mine), len(mine)))
        for _, mine in sorted(by_task.items())
    ]
    return paired_bootstrap(pairs, seed) if len(pairs) > 1 else None


def _agreement(labels: Sequence[str], said: Sequence[str | None], classes: Sequence[str]) -> Quality:
    """A verdict without a reading is wrong, and a class of its own for kappa."""
    from sklearn.metrics import cohen_kappa_score

    words = ["none" if word is None else word for word in said]
    right = _matches(labels, words)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where both only ever say one thing
        kappa = float(cohen_kappa_score(labels, words, labels=[*classes, "none"]))
    return Quality(accuracy=right / len(labels), kappa=None if np.isnan(kappa) else kappa)


def _check(examples: Sequence[Example]) -> None:
    tasks, kinds = len({each.task for each in examples}), {each.label for each in examples}
    if len(examples) < FEWEST_STEPS or tasks < FEWEST_TASKS:
        raise CannotCalibrate(
            f"{len(examples)} labelled steps of {tasks} tasks: it takes at least {FEWEST_STEPS} of {FEWEST_TASKS}, and on "
            "public labels less than 50 labelled traces mostly made a judge worse"
        )
    fair = sum(each.representative for each in examples)
    if fair < FEWEST_STEPS:
        raise CannotCalibrate(
            f"{fair} of {len(examples)} labelled steps are labelled blind and were drawn with known probability: quality is "
            f"measured on those alone, and it takes at least {FEWEST_STEPS}; label a uniform draw"
        )
    if len(kinds) < 2:
        raise CannotCalibrate(f"every label is {kinds.pop()!r}: there is nothing to tell apart")
