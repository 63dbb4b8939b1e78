"""A jury asks several judges, or one judge several times, and takes the answer that more than half of them give.

It tells how sure an answer is, and which steps people should look at. It is not a better judge: on public human labels
juries do not beat their best member (docs/judges.md).
"""

from collections import Counter
from collections.abc import Sequence

from judge_service.judges.hearing import Heard, answered, hear, parts, silent
from judge_service.judges.judge import Ask, Court, Seat
from judge_service.question import Answered, Asked, Question, undetermined
from stepjudge.rubric import AnswerWord
from stepjudge.value import JsonObject
from stepjudge.verdict import Answer

VOTING = "1"
"""Changes whenever the same votes may come to another answer."""


class Jury(Court):
    """Members with one vote each."""

    def __init__(self, seats: Sequence[Seat], *, needs: int = 1, note: str = "") -> None:
        super().__init__(seats)
        self._needs = needs
        self._note = note

    @property
    def note(self) -> str:
        about = f"a jury of {len(self.seats)}: confidence is the share of its members that gave the answer"
        return f"{about}; {self._note}" if self._note else about

    def specification(self) -> JsonObject:
        return {
            "kind": "jury",
            "voting": VOTING,
            "needs": self._needs,
            "members": [{"judge": seat.judge.specification, "sample": seat.sample} for seat in self.seats],
        }

    async def convene(self, question: Question, ask: Ask) -> Answered:
        heard = await hear(ask, self.seats, question)
        answers = [self._answer(item, heard) for item in question.asked]
        return answered(answers, heard, missing=heard)

    def _answer(self, item: Asked, heard: Sequence[Heard]) -> Answer:
        (part,) = parts([item])
        said = {each.seat.name: answer for each in heard if (answer := each.answer(part))}
        voting = {name: answer for name, answer in said.items() if answer.answer != "undetermined"}
        if not voting:
            return silent(item, list(said.values()))
        counts = Counter(answer.answer for answer in voting.values())
        word, most = counts.most_common(1)[0]
        if 2 * most <= len(voting) or most < self._needs:
            return undetermined(item, "jury_split", _tally(said))
        agreeing = {name: answer for name, answer in voting.items() if answer.answer == word}
        speaker, speech = min(agreeing.items(), key=lambda each: each[1].ungrounded)
        reason = f"{_tally(said)}. {speaker}: {speech.reason}" if len(said) > 1 else speech.reason
        return speech.model_copy(
            update={"reason": reason, "confidence": most / len(self.seats), "decided_by": tuple(agreeing)}
        )


def _tally(said: dict[str, Answer]) -> str:
    """`2 of 3 say yes (a, b), 1 says no (c)`: the most frequent answer first."""
    by_word: dict[AnswerWord, list[str]] = {}
    for name, answer in said.items():
        by_word.setdefault(answer.answer, []).append(name)
    groups = sorted(by_word.items(), key=lambda each: -len(each[1]))
    told = [
        f"{len(names)} {'says' if len(names) == 1 else 'say'} {word} ({', '.join(names)})" for word, names in groups
    ]
    return f"of {len(said)}, " + ", ".join(told)
