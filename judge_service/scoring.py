"""A scoring is one trace as one judge scored it by one rubric: what a list shows of it, and is filtered by."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import JsonValue

from judge_service.chain import timestamp
from judge_service.spoken import spoken
from stepjudge.digest import digest
from stepjudge.rubric import Rubric
from stepjudge.scorecard import Landed, step_score
from stepjudge.trace import Trace
from stepjudge.value import JsonObject
from stepjudge.verdict import Answer, Verdict
from stepjudge.visible import visible

TONES = {1: "+", 0: "0", -1: "-", None: "?"}
"""A step's score as one character; a full stop is a step that was not judged."""

_MOST = 400


@dataclass(frozen=True)
class Scoring:
    """What is stored of it, and what its steps speak of."""

    row: Mapping[str, JsonValue]
    states: tuple[str, ...]
    """The states of the trace up to its last judged step: an earlier scoring that ends at one of them was of less."""
    steps: tuple[str, ...]
    texts: Mapping[str, str]
    """By the digest of the step."""


def scoring(
    trace: Trace,
    rubric: Rubric,
    judge: tuple[str, str],
    digests: tuple[Sequence[str], Sequence[str]],
    landed: Mapping[int, Landed],
) -> Scoring:
    """`judge` is its name and digest, `digests` are those of the trace's states and steps; something must have landed."""
    last = max(landed)
    states, steps = tuple(digests[0][: last + 1]), tuple(digests[1][:last])
    verdicts = [landed[index].verdict for index in sorted(landed)]
    scores = {index: step_score(rubric, trace.steps[index - 1], item) for index, item in landed.items()}
    said: JsonObject = {str(index): {**score.answers} for index, score in sorted(scores.items())}
    answers = [answer for verdict in verdicts for answer in verdict.answers]
    words = {f"{answer.criterion}={answer.answer}" for answer in answers}
    confidences = [answer.confidence for answer in answers if answer.confidence is not None]
    costs = [verdict.spent.cost_usd for verdict in verdicts]
    row: dict[str, JsonValue] = {
        "trace_digest": states[-1],
        "trace_id": _excerpt(trace.trace_id),
        "source_format": _excerpt(trace.source_format),
        "task": _excerpt(trace.task),
        "rubric": rubric.reference,
        "rubric_digest": verdicts[0].rubric,
        "judge": judge[0],
        "judge_digest": judge[1],
        "created_at": timestamp(datetime.now(UTC)),
        "steps": len(trace.steps),
        "tones": "".join(TONES[scores[index].score] if index in scores else "." for index in range(1, last + 1)),
        "answers": f" {' '.join(sorted(words))} ",
        "said": digest(said),
        "undetermined": sum(verdict.undetermined for verdict in verdicts),
        "ungrounded": sum(answer.ungrounded for answer in answers),
        "confidence": min(confidences, default=None),
        "addresses_judge": any(fact.name == "addresses_judge" for verdict in verdicts for fact in verdict.facts),
        "split": any(_split(answer) for answer in answers),
        "cost_usd": None if None in costs else sum(cost or 0.0 for cost in costs),
        "seconds": sum(verdict.spent.latency_s for verdict in verdicts),
        "verdicts": json.dumps(_ids(verdicts, last)),
    }
    reasoning = rubric.shows_reasoning
    texts = {digest: spoken(step, reasoning=reasoning) for digest, step in zip(steps, trace.steps, strict=False)}
    return Scoring(row, states, steps, texts)


def _ids(verdicts: Sequence[Verdict], last: int) -> list[str | None]:
    by_step = {verdict.step: verdict.verdict_id for verdict in verdicts}
    return [by_step.get(index) for index in range(1, last + 1)]


def _split(answer: Answer) -> bool:
    """Whether members of a court gave another answer than the court."""
    share = answer.confidence
    return answer.cause == "jury_split" or (len(answer.decided_by) > 0 and share is not None and share < 1)


def _excerpt(text: str) -> str:
    return visible(text[:_MOST])[:_MOST]
