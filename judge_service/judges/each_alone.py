"""A criterion alone is asked under a rubric of its own, so that its answer is remembered whatever becomes of the others.

That rubric holds the instructions and the one criterion, and no word of the rest: a change elsewhere changes neither what
the judge reads nor the key of what it said.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from judge_service.judges.hearing import Heard, answered, hear, parts
from judge_service.judges.judge import Ask, NamedJudge, Seat
from judge_service.question import Answered, Question
from stepjudge.rubric import Criterion, Rubric, Scoring
from stepjudge.verdict import Answer, Part

ALONE = "alone-"
"""The names of such rubrics begin so."""


def alone(rubric: Rubric, criterion: Criterion) -> Rubric:
    """The rubric under which a criterion of this one is asked alone.

    What it implies is left out: the judge cannot tell without the other criteria. It is checked once all have answered.
    """
    return Rubric(
        name=f"{ALONE}{re.sub('_+', '-', criterion.name).strip('-')}",
        version="1.0.0",
        instructions=rubric.instructions,
        shows_reasoning=rubric.shows_reasoning,
        criteria=(criterion.model_copy(update={"implies": ()}),),
        scoring=Scoring(passes=(criterion.name,)),
    )


async def each_alone(question: Question, judge: NamedJudge, ask: Ask) -> Answered:
    """Ask each criterion by itself, at the same time. `ask` is called with a seat that has the criterion's name."""
    names = dict.fromkeys(item.criterion.name for item in question.asked)
    heard = await hear(ask, [Seat(name, judge) for name in names], question)
    answers = tuple(_answer(part, heard) for part in parts(question.asked))
    whole = answered(answers, heard, missing=heard)
    inherited = {step for each in heard for step in each.landed.verdict.inherits_from}
    return replace(whole, inherits_from=tuple(sorted(inherited)))


def _answer(part: Part, heard: Sequence[Heard]) -> Answer:
    """A contradiction between two of them cannot be asked again: whoever puts the verdict together makes it abstain."""
    return next(answer for each in heard if (answer := each.answer(part)))
