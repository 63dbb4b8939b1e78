"""A recorded audit sets the recorded answers of another judge beside people's labels of the same steps."""

from collections.abc import Sequence

from stepjudge.agreement import TERNARY, YES_NO, Agreement, Rated, agreement
from stepjudge.first_error import FirstError, TraceRated, first_error
from stepjudge.floors import Floor, Positioned, always_plus, position_alone
from stepjudge.recorded_answers import BadRecordedAnswers, PairedStep, RecordedAnswers, paired, unlabelled
from stepjudge.value import Value


class RecordedAudit(Value):
    """One judge on one data set."""

    judge: str
    dataset: str
    traces: int
    tasks: int
    steps: int
    """Steps that people labelled. Whatever the judge left out of them counts as wrong in step accuracy."""
    missing: int
    """Steps without an answer of the judge."""
    silent: int
    """Answers 0 that nobody gave: they came without an explanation, out of the parser of the recording."""
    unlabelled: int
    """The judge's answers to steps that people did not label. They stand in no figure."""
    score: Agreement
    """−1, 0, +1. Its `raw` is step accuracy."""
    passes: Agreement
    """+1 against the rest: kappa good."""
    bad: Agreement
    """−1 against the rest: kappa bad."""
    first_error: FirstError
    floors: tuple[Floor, ...]
    """What never reading reaches on the same steps."""


def recorded_audit(
    human: RecordedAnswers, judge: RecordedAnswers, *, known_floors: tuple[Floor, ...] | None = None, seed: int = 0
) -> RecordedAudit:
    """The figures of one recorded judge. `known_floors` are those of the same labels, when they were worked out before."""
    steps = paired(human, judge)
    traces = _by_trace(steps)
    return RecordedAudit(
        judge=judge.judge,
        dataset=human.dataset,
        traces=len(traces),
        tasks=len({each.task_id for each in steps}),
        steps=len(steps),
        missing=sum(each.state == "missing" for each in steps),
        silent=sum(each.state == "silent" for each in steps),
        unlabelled=unlabelled(human, judge),
        score=agreement(
            [Rated(each.task_id, each.human, each.judge) for each in steps], TERNARY, scale="ordinal", seed=seed
        ),
        passes=_binary(steps, 1, seed),
        bad=_binary(steps, -1, seed),
        first_error=first_error(
            [
                TraceRated(mine[0].task_id, tuple(each.human for each in mine), tuple(each.judge for each in mine))
                for mine in traces
            ],
            seed=seed,
        ),
        floors=floors(human, seed=seed) if known_floors is None else known_floors,
    )


def floors(human: RecordedAnswers, *, seed: int = 0) -> tuple[Floor, ...]:
    """What never reading reaches on these labels."""
    steps = paired(human, human)
    scores = [[each.human for each in mine] for mine in _by_trace(steps)]
    positions = [Positioned(each.task_id, each.position, each.human) for each in steps]
    return always_plus(scores), position_alone(positions, seed=seed)


def labels_for(judge: RecordedAnswers, humans: Sequence[RecordedAnswers]) -> RecordedAnswers:
    """The labels that share most traces with the judge's answers. Raises BadRecordedAnswers when none shares any."""
    shared = [len(judge.by_trace.keys() & human.by_trace.keys()) for human in humans]
    if not shared or max(shared) == 0:
        raise BadRecordedAnswers(
            f"no labels share a trace with the answers of {judge.judge!r} on {judge.dataset!r}: name the file of people's labels"
        )
    return humans[shared.index(max(shared))]


def _binary(steps: Sequence[PairedStep], value: int, seed: int) -> Agreement:
    def word(score: int | None) -> str | None:
        return None if score is None else "yes" if score == value else "no"

    rated = [Rated(each.task_id, word(each.human) or "no", word(each.judge)) for each in steps]
    return agreement(rated, YES_NO[:2], scale="nominal", seed=seed)


def _by_trace(steps: Sequence[PairedStep]) -> list[list[PairedStep]]:
    traces: dict[str, list[PairedStep]] = {}
    for step in steps:
        traces.setdefault(step.trace_id, []).append(step)
    return list(traces.values())
