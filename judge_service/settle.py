"""Settling answers, without a judge, the criteria for which a fact is the definition; the rest remains to be asked."""

from judge_service.question import Asked, things_to_ask
from stepjudge.metric import combine
from stepjudge.rubric import Rubric, SettlingFact
from stepjudge.trace import Step
from stepjudge.verdict import Answer, AnswerWord, Evidence, Fact
from stepjudge.visible import visible

_IN_WORDS: dict[SettlingFact, str] = {
    "rejected": "the environment rejected the call",
    "empty_result": "the result is empty",
    "failed_result": "the tool failed",
    "repeat": "the call repeats an earlier one and nothing has changed",
    "first_step": "this is the first step",
}
_QUOTED = 200


def settle(rubric: Rubric, step: Step, facts: tuple[Fact, ...]) -> tuple[tuple[Answer, ...], tuple[Asked, ...]]:
    """The answers that the facts of the step settle, and what remains to ask, both in the rubric's order."""
    settled: dict[Asked, Answer] = {}
    asked = things_to_ask(rubric, step)
    for one in asked:
        if answer := _by_definition(one, step, facts):
            settled[one] = answer
    # Each round settles at least one, and what it settles may imply more.
    while implied := {one: no for one in asked if one not in settled and (no := _implied(one, asked, settled))}:
        settled |= implied
    return tuple(settled[one] for one in asked if one in settled), tuple(one for one in asked if one not in settled)


def _by_definition(asked: Asked, step: Step, facts: tuple[Fact, ...]) -> Answer | None:
    criterion = asked.criterion
    if criterion.needs_call and not step.calls:
        return _settled(asked, "not_applicable", "no_call", "the step has no call")
    if fact := _settling(asked, criterion.not_applicable_by_fact, step, facts):
        return _from_fact(asked, "not_applicable", fact, step)
    if fact := _settling(asked, criterion.no_by_fact, step, facts):
        return _from_fact(asked, "no", fact, step)
    return None


def _settling(asked: Asked, names: tuple[SettlingFact, ...], step: Step, facts: tuple[Fact, ...]) -> Fact | None:
    matching = [fact for fact in facts if fact.settles and fact.name in names]
    if of_step := [fact for fact in matching if fact.call is None]:
        return of_step[0]
    if asked.call is not None:
        return next((fact for fact in matching if fact.call == asked.call), None)
    # A question about the whole step is settled by facts about calls only when every call has one.
    every = step.calls and {fact.call for fact in matching} == set(range(1, len(step.calls) + 1))
    return matching[0] if every else None


def _implied(asked: Asked, everything: tuple[Asked, ...], settled: dict[Asked, Answer]) -> Answer | None:
    criterion = asked.criterion
    # It may not apply at all, and then "no" would count it where it does not belong.
    if criterion.not_applicable_when or criterion.not_applicable_by_fact:
        return None
    for name in criterion.implies:
        needed = [one for one in everything if one.criterion.name == name]
        # Of the same call where both are asked of calls; else of the whole step.
        needed = [one for one in needed if one.call == asked.call] or needed
        if cause := _certain_no(needed, settled):
            reason = f"{criterion.name!r} implies {name!r}, which is no: {cause.reason}"
            return _settled(asked, "no", cause.rule or name, reason, *cause.evidence)
    return None


def _certain_no(needed: list[Asked], settled: dict[Asked, Answer]) -> Answer | None:
    """The settled answer that makes the criterion a no, if what is still open cannot change that."""
    words: list[AnswerWord] = [settled[one].answer if one in settled else "undetermined" for one in needed]
    if combine(words, needed[0].criterion.step_takes or "all") != "no":
        return None
    return next(settled[one] for one in needed if one in settled and settled[one].answer == "no")


def _from_fact(asked: Asked, answer: AnswerWord, fact: Fact, step: Step) -> Answer:
    reason = next(words for name, words in _IN_WORDS.items() if name == fact.name)
    return _settled(asked, answer, fact.name, f"{reason}: {fact.detail}", *_evidence(fact, step))


def _evidence(fact: Fact, step: Step) -> tuple[Evidence, ...]:
    if fact.call is None:
        return ()
    # As a judge would be shown it, so that the quote stands where it says.
    quote = visible(step.calls[fact.call - 1].result.text[:_QUOTED])[:_QUOTED]
    return (Evidence(place=f"s{step.index}.c{fact.call}.result", quote=quote),)


def _settled(asked: Asked, answer: AnswerWord, rule: str, reason: str, *evidence: Evidence) -> Answer:
    return Answer(
        criterion=asked.criterion.name,
        call=asked.call,
        answer=answer,
        reason=reason,
        evidence=evidence,
        settled_by="facts",
        rule=rule,
    )
