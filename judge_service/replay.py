"""A replay reads every stored reply again with the code of today, and lists the answers that come out otherwise.

It asks no model and writes nothing. Parser, consistency, grounding and the thresholds are today's; facts are as stored.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, cast, get_args

import sqlalchemy as sa
from pydantic import ValidationError

from judge_service import schema
from judge_service.audit import question_again
from judge_service.consistency import abstained
from judge_service.judges.acceptance import Exchange, accepted, received
from judge_service.model import Completion
from judge_service.question import Question
from judge_service.shown import Shown
from judge_service.terms import Mode
from judge_service.verify_record import Again
from stepjudge.rubric import AnswerWord, Rubric
from stepjudge.value import JsonObject, Value
from stepjudge.verdict import Answer, Cause, VerdictRecord

Why = Literal[
    "reading",  # the reply is read, or checked for consistency, otherwise than it was
    "grounding",  # a quote stands now where it did not, or no longer
    "threshold",  # the confidence is below the one that was asked for
    "jury",  # so many votes are needed now, or no longer
]


class AnswerFlip(Value):
    """An answer that comes out otherwise."""

    verdict_id: str
    rubric: str
    judge: str
    step: int
    criterion: str
    call: int | None
    stored: AnswerWord
    stored_cause: Cause | None
    stored_ungrounded: bool
    now: AnswerWord
    now_cause: Cause | None
    now_ungrounded: bool
    why: Why
    reason: str
    """The judge's, as read today."""


class Thresholds(Value):
    """What answers must reach to count. Null where nothing was asked for."""

    min_confidence: float | None = None
    """Answers of a known confidence below this become undetermined."""
    needs: int | None = None
    """Members of a jury that must give one answer, beside being more than half of those that gave one."""


class Replay:
    """The replies of a ledger, read again. It counts as it goes."""

    def __init__(self, engine: sa.Engine, thresholds: Thresholds, *, rubric: str | None, judge: str | None) -> None:
        """`rubric` is a name or `name@version`, `judge` a name; null for all."""
        self._engine = engine
        self._thresholds = thresholds
        self._rubric = rubric
        self._judge = judge
        self.total = 0
        self.read = 0
        """Verdicts with a reply, or with votes, that were read again."""
        self.without = 0
        """Verdicts without any: settled by facts, by rules, or never answered."""
        self.damaged = 0
        """Verdicts that cannot be read again, because something stored is missing or damaged."""
        self.ask_again = 0
        """Verdicts whose last reply would be objected to today, so that the judge would be asked once more."""

    def flips(self) -> Iterator[AnswerFlip]:
        """Every answer that differs, in the order of writing."""
        table = schema.verdicts
        query = sa.select(table.c.record).order_by(table.c.sequence)
        if self._judge is not None:
            query = query.where(table.c.judge == self._judge)
        if self._rubric is not None:
            named = table.c.rubric.startswith(f"{self._rubric}@", autoescape=True)
            query = query.where(sa.or_(table.c.rubric == self._rubric, named))
        with self._engine.connect() as connection, self._engine.connect() as beside:
            self.total = connection.scalar(sa.select(sa.func.count()).select_from(query.subquery())) or 0
            again = Again(beside)
            for text in connection.execution_options(yield_per=200).scalars(query):
                yield from self._of(text, again)

    def _of(self, text: str, again: Again) -> Sequence[AnswerFlip]:
        try:
            record = VerdictRecord.model_validate_json(text)
            now = self._voted(record) if record.votes else self._answers(record, again)
        except (ValidationError, ValueError, KeyError, IndexError):
            self.damaged += 1
            return ()
        if now is None:
            self.without += 1
            return ()
        self.read += 1
        return [flip for answer, why in now if (flip := self._flip(record, answer, why)) is not None]

    def _answers(self, record: VerdictRecord, again: Again) -> list[tuple[Answer, Why]] | None:
        """The judge's answers as read today; null where no reply is stored."""
        replies = [entry for entry in record.exchanges if isinstance(entry.get("reply"), str)]
        if not replies:
            return None
        found = again.restored(record)
        if found is None:
            raise KeyError(record.rubric_digest)
        rubric, trace, shown = found
        question = question_again(record, trace, rubric)
        last = self._last(question, replies, shown)
        stored = {(each.criterion, each.call): each for each in record.verdict.answers}
        read: list[tuple[Answer, Why]] = []
        for answer in accepted(question, last, shown):
            before = stored.get((answer.criterion, answer.call))
            if before is None:
                continue
            same = answer.answer == before.answer
            # token probabilities are not stored: they are those of the answer that was
            kept = answer.model_copy(update={"confidence": before.confidence}) if same else answer
            why: Why = "grounding" if same and kept.ungrounded != before.ungrounded else "reading"
            read.append(self._sure(kept, why))
        return _whole(record, rubric, read)

    def _last(self, question: Question, replies: Sequence[JsonObject], shown: Shown) -> Exchange:
        """The reply that would be taken today, as the judge takes it: the first without an objection, else the last."""
        objected: set[str] = set()
        exchange: Exchange | None = None
        for entry in replies:
            exchange = received(question, _completion(entry), shown.places(question.index), objected)
            if exchange.objection is None:
                return exchange
            objected.add(exchange.objection[0])
        assert exchange is not None
        self.ask_again += 1
        return exchange

    def _voted(self, record: VerdictRecord) -> list[tuple[Answer, Why]] | None:
        """A jury's answers from its votes; null for what is made of verdicts that are read by themselves."""
        if record.judge.get("kind") != "jury":
            return None
        needs = self._thresholds.needs or int(str(record.judge.get("needs", 1)))
        voted: list[tuple[Answer, Why]] = []
        for before in record.verdict.answers:
            if before.settled_by == "facts" or (before.cause == "contradiction"):
                continue
            words: Counter[AnswerWord] = Counter(
                each.answer
                for vote in record.votes
                for each in vote.answers
                if (each.criterion, each.call) == (before.criterion, before.call) and each.answer != "undetermined"
            )
            voted.append(self._sure(_jury(before, words, needs, len(record.votes)), "jury"))
        return voted

    def _sure(self, answer: Answer, why: Why) -> tuple[Answer, Why]:
        limit = self._thresholds.min_confidence
        if limit is None or answer.confidence is None or answer.confidence >= limit or answer.answer == "undetermined":
            return answer, why
        unsure = {"answer": "undetermined", "cause": "judge_unsure", "ungrounded": False, "fixes": ()}
        return answer.model_copy(update=unsure), "threshold"

    def _flip(self, record: VerdictRecord, now: Answer, why: Why) -> AnswerFlip | None:
        stored = next(
            each for each in record.verdict.answers if (each.criterion, each.call) == (now.criterion, now.call)
        )
        if (stored.answer, stored.cause, stored.ungrounded) == (now.answer, now.cause, now.ungrounded):
            return None
        return AnswerFlip(
            verdict_id=record.verdict.verdict_id,
            rubric=record.rubric,
            judge=record.verdict.judge,
            step=record.verdict.step,
            criterion=now.criterion,
            call=now.call,
            stored=stored.answer,
            stored_cause=stored.cause,
            stored_ungrounded=stored.ungrounded,
            now=now.answer,
            now_cause=now.cause,
            now_ungrounded=now.ungrounded,
            why=why,
            reason=now.reason,
        )


def _whole(record: VerdictRecord, rubric: Rubric, read: list[tuple[Answer, Why]]) -> list[tuple[Answer, Why]]:
    """With what facts settled beside them: a contradiction with that makes an answer abstain too."""
    judged = [answer for answer, _ in read]
    settled = [answer for answer in record.verdict.answers if answer.settled_by == "facts"]
    order = {criterion.name: place for place, criterion in enumerate(rubric.criteria)}
    both = sorted((*settled, *judged), key=lambda each: (order[each.criterion], each.call or 0))
    checked = {(each.criterion, each.call): each for each in abstained(rubric, both)}
    return [(checked[answer.criterion, answer.call], why) for answer, why in read]


def _jury(before: Answer, words: Counter[AnswerWord], needs: int, members: int) -> Answer:
    """As a jury decides: more than half of those that gave an answer, and at least so many."""
    if not words:
        return before
    word, most = words.most_common(1)[0]
    if 2 * most <= sum(words.values()) or most < needs:
        split = {"answer": "undetermined", "cause": "jury_split", "ungrounded": False, "fixes": (), "confidence": None}
        return before if before.answer == "undetermined" else before.model_copy(update=split)
    if before.answer == word:
        return before
    return before.model_copy(update={"answer": word, "cause": None, "confidence": most / members})


def _completion(entry: JsonObject) -> Completion:
    """A reply as the ledger keeps it. What reading does not look at is left out."""
    mode = entry.get("mode")
    refusal = entry.get("refusal")
    return Completion(
        text=str(entry["reply"]),
        finish_reason=str(entry.get("finish_reason") or ""),
        refusal=str(refusal) if refusal else None,
        mode=cast(Mode, mode) if mode in get_args(Mode) else "text",
        dropped=(),
        model=None,
        prompt_tokens=None,
        cached_tokens=None,
        completion_tokens=None,
        cost_usd=None,
        latency_s=0.0,
        attempts=1,
        perhaps_billed=0,
        tokens=(),
    )
