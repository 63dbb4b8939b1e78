"""The rules judge needs no model: it answers where a measured rule speaks, and says undetermined everywhere else.

A rule may answer beyond the definitional facts only where its precision on public human labels is at least 0.9.
`benchmarks/offline_rules.py` measures that, and docs/facts.md shows every rule that was tried.
"""

import re
from collections.abc import Collection

from judge_service.budget import Budget
from judge_service.facts import FACTS_VERSION
from judge_service.question import Answered, Asked, Question, undetermined
from judge_service.shown import Shown
from stepjudge.rubric import Rubric
from stepjudge.trace import Call
from stepjudge.value import JsonObject
from stepjudge.verdict import Answer, Evidence, Fact
from stepjudge.visible import visible

RULES_VERSION = "1"
"""Changes whenever a question may get another answer than before."""

FIRST_SEARCH = "first_search_brings_documents"
MEASURED = (
    "measured on AgentProcessBench hotpotqa (public human labels): 178 of 181 such steps are labelled +1, "
    "precision 0.98; other domains are unmeasured"
)

_SEARCH = re.compile(r"search|retriev|lookup|look_up|(?<![a-z])query", re.IGNORECASE)
_QUOTED = 200


class RulesJudge:
    """The judge that runs when nothing is configured."""

    name = "rules"
    asks_model = False
    note = (
        "offline rules, not a model: they answer only what follows from the trace by definition, "
        "or by a rule measured on human labels; all else is undetermined, and rates over the few settled steps are no "
        "estimate for the others"
    )

    def specification(self) -> JsonObject:
        return {"kind": "rules", "rules": RULES_VERSION, "facts": FACTS_VERSION}

    def estimate(self, question: Question, shown: Shown) -> tuple[int, int, float | None]:
        return 0, 0, 0.0

    async def answer(self, question: Question, shown: Shown, budget: Budget) -> Answered:
        return answered(question)


def answered(question: Question) -> Answered:
    """The rules' answers."""
    known = _speaks_of(question.rubric)
    return Answered(answers=tuple(_answer(question, asked, known) for asked in question.asked))


def _speaks_of(rubric: Rubric) -> frozenset[str]:
    """The criteria that mean what was measured: the label +1 was read as the `passes` of exactly these three."""
    units = {criterion.name: criterion.unit for criterion in rubric.criteria}
    measured = {"valid", "relevant", "useful"}
    if set(rubric.scoring.passes) != measured or any(units[name] != "call" for name in measured):
        return frozenset()
    return frozenset(measured)


def _answer(question: Question, asked: Asked, known: Collection[str]) -> Answer:
    if asked.criterion.name not in known:
        return undetermined(
            asked, "rule_unknown", f"no measured rule answers {asked.criterion.name!r}: it needs a reader"
        )
    if asked.call is None:
        return undetermined(
            asked, "rule_unknown", "no rule about messages reaches a precision of 0.9: it needs a reader"
        )
    call = question.step.calls[asked.call - 1]
    names = {fact.name for fact in question.facts if fact.call in (None, asked.call)}
    if missing := _missing(question.index, call, names):
        return undetermined(asked, "rule_unknown", missing)
    return _yes(question, asked, call)


def _missing(index: int, call: Call, names: set[str]) -> str:
    """What keeps the one rule from speaking; empty when it speaks."""
    if "missing_result" in names:
        return "the trace has no result for this call"
    if "documents" not in names or not is_search(call):
        return (
            "the measured rule covers searches that return a JSON list of documents; what this call did needs a reader"
        )
    if index != 1:
        return "the measured rule covers the first step; whether later documents were needed takes a reader"
    if "new_documents" not in names or "rejected" in names:
        return "the search brought no new document"
    if "addresses_judge" in names:
        return "the result speaks to the judge, so it needs a reader"
    return ""


def is_search(call: Call) -> bool:
    """Whether the tool or one of its arguments is named like a search, as those were that the rule was measured on."""
    return any(_SEARCH.search(name) for name in (call.name, *(call.arguments or {})))


def _yes(question: Question, asked: Asked, call: Call) -> Answer:
    documents = next(_of(question.facts, "documents", asked.call))
    place = f"s{question.index}.c{asked.call}.result"
    return Answer(
        criterion=asked.criterion.name,
        call=asked.call,
        answer="yes",
        reason=f"the first step is a search that brought documents ({documents.detail}); {MEASURED}",
        evidence=(Evidence(place=place, quote=visible(call.result.text[:_QUOTED])[:_QUOTED]),),
        rule=FIRST_SEARCH,
    )


def _of(facts: Collection[Fact], name: str, call: int | None):
    return (fact for fact in facts if fact.name == name and fact.call == call)
