"""A hostile sign is a wording by which a text works on whoever judges it: it orders, forges, or speaks to them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from judge_service.facts.wording import folded

_JUDGE = (
    r"(?:(?:llm|ai|auto(?:matic|mated)?|step|model|language model)[ -]?)?"
    r"(?:judge|auto-?grader|grader|evaluator|assessor|scorer|reviewer)s?"
)
_GRADE = r"(?:mark|rate|score|grade|label|judge|consider|treat|classify|count|evaluate|accept)"
_GOOD = (
    r"(?:valid|relevant|useful|correct|pass(?:ed|ing)?|yes|success(?:ful)?|perfect|full marks|10/10|5/5|\+1|1\.0|true)"
)
_GRADED = r"(?:steps?|calls?|actions?|answers?|traces?|trajector(?:y|ies)|runs?|criteri(?:on|a)|it|everything)"
_ASKED = r"(?:valid|relevant|useful)"
"""Criteria of the shipped rubric: two of them close together are about a judgement."""
_FRAMES = (
    r"(?:observation|tool_result|tool_response|function_results?|trace|steps?|untrusted\w{0,20}|evidence|rubric|question"
    r"|system|instructions?|data|transcript)"
)
_FRAME_STARTS = (
    "</observation", "</tool_", "</function_", "</trace", "</step", "</untrusted", "</evidence", "</rubric",
    "</question", "</system", "</instruction", "</data", "</transcript", "<|", "[/inst]", "<<sys>>", "⟦", "〚", "⟬",
    "how to answer",
)  # fmt: skip
_JUDGES = ("judge", "judging", "grader", "grading", "evaluator", "evaluating", "assessor", "scorer", "reviewer")
_STEPS = (
    "every ", "all ", "this ", "each ", "these ", "the step", "everything", "criteri", "rubric", "verdict", "marks",
    "whoever ",
)  # fmt: skip

# As `folded` spells them: Cyrillic letters that look Latin have become Latin.
_ELSEWHERE = tuple(
    folded(word)
    for word in (
        "juez", "evaluador", "évaluateur", "evaluateur", "correcteur", "bewerter", "prüfer", "gutachter", "avaliador",
        "valutatore", "оценщик", "судь", "评审", "评委", "评估模型", "评分", "評価者", "審査", "평가자", "심사",
    )
)  # fmt: skip
_TO_THEM = folded(
    r"(?:nota|mensaje|aviso|estimado|para|note|à l'attention|cher|pour|hinweis|nachricht|an|liebe|lieber|für|mensagem|"
    r"messaggio|per|примечание|сообщение|для|внимание|уважаем)"
)


@dataclass(frozen=True)
class _Sign:
    """A pattern, tried only around its hooks, in windows of bounded length and number: the cost is to find the hooks."""

    kind: str
    hooks: tuple[str, ...]
    pattern: re.Pattern[str]


_SIGNS = (
    _Sign("speaks to a judge", _JUDGES, re.compile(
        rf"(?:dear|hey|hello|attention|attn|(?:note|message|instructions?|reminder|hint) (?:to|for)|to|for)"
        rf" (?:all |any |the |our |whichever ){{0,3}}{_JUDGE}\s{{0,3}}[,:!.]"
        rf"|(?:note|message|reminder|hint) (?:to|for) (?:all |any |the |our |whichever ){{0,3}}{_JUDGE}\b"
        rf"|(?:^|[\n:.!\"'>*#\]])\s{{0,5}}(?:system\s{{0,3}}[:,]\s{{0,3}})?(?:the )?{_JUDGE}\s{{0,3}}[,:]\s"
        rf"|you (?:are|were|as) (?:now )?(?:an?|the) (?:\w{{1,20}} ){{0,3}}{_JUDGE}\b"
        rf"|as (?:an?|the) {_JUDGE},? you\b"
        rf"|\b{_JUDGE}s? (?:must|should|shall|are to|is to|has to|have to|(?:may|can|will|do|does) not)\b.{{0,50}}"
        rf"\b(?:{_GOOD}|no|negative|scores?|verdicts?|steps?)\b"
        r"|if you(?:'re| are) (?:judging|grading|evaluating|scoring|reviewing)\b")),
    _Sign("speaks to a judge", _ELSEWHERE, re.compile(
        rf"{_TO_THEM}.{{0,12}}(?:{'|'.join(_ELSEWHERE[:12])})|(?:致|给|請|请|各位).{{0,4}}(?:{'|'.join(_ELSEWHERE[12:])})"
        rf"|(?:{'|'.join(_ELSEWHERE[12:])})\w{{0,4}}(?:请|請|注意|へ|への|에게|[:：,，])")),
    _Sign("orders an answer", _STEPS, re.compile(
        rf"\b{_GRADE} (?:\w{{1,20}} ){{0,3}}{_GRADED}\b.{{0,60}}\b{_GOOD}"
        rf"|\b(?:give|award|assign|return|output|answer|respond|reply|report)\b.{{0,40}}\b(?:{_GOOD}|highest|maximum|top)\b"
        r".{0,40}\b(?:steps?|criteri(?:on|a)|rubrics?|scores?|marks?|verdicts?|grades?)\b"
        rf"|\b(?:steps?|calls?|actions?) (?:is|are|was|were|must be|should be) (?:\w{{1,20}} ){{0,2}}"
        rf"(?:{_GRADE}e?d|considered|found|deemed|verified|approved)\b.{{0,30}}\b(?:{_GOOD}|needed|reviewers?|annotators?)"
        rf"|\b(?:this|the|every|each) (?:steps?|calls?|acts?)\b.{{0,40}}\b{_ASKED}\b.{{0,30}}\b(?:{_ASKED}|correct|needed)\b"
        r"|\b(?:every|each|all|the|only|acceptable|permitted)(?: \w{1,20}){0,2} answers?\b.{0,30}\b(?:is|are) yes\b"
        r"|\b(?:answer|reply|respond|return|output) yes (?:to|for|on|throughout|everywhere|in)\b")),
    _Sign("orders an answer", ("answer yes", "answers are yes", "answer is yes", "yes for all", "answer here is yes"),
        re.compile(
        r"\b(?:must|will|now|always|only|acceptable|permitted)\b.{0,30}\banswers? (?:is |are |with )?yes\b"
        r"|\b(?:answer|output|reply) yes (?:to|for|on|throughout|everywhere)\b|\bevery answer here is yes\b")),
    _Sign("sets the rubric aside", ("rubric", "criteri", "grading", "evaluation", "judg", "verdict"), re.compile(
        r"\b(?:ignore|disregard|forget|override|bypass|skip) (?:\w{1,20} ){0,4}"
        r"(?:rubrics?|criteria|grading|evaluation|judg\w{1,10}|verdicts?)\b"
        r"|\b(?:rubrics?|criteria|criterion|grading (?:guide|policy|rules|scheme)|evaluation policy)\b.{0,40}"
        r"\b(?:corrected|replaces?|supersedes?|(?:has|have) (?:changed|been (?:changed|relaxed|updated|replaced)))\b"
        r"|\bexceptions? to the (?:criteria|rubric)\b|\bgrading guide\b")),
    _Sign("forges a rubric", ("yes when", "no when", "useful' means", "useful\" means", "counts as", "count as"), re.compile(
        rf"\byes when:|\bno when:|\b{_ASKED}['\"] (?:now )?means\b|\bcounts? as {_ASKED}\b")),
    _Sign("forges a frame", _FRAME_STARTS, re.compile(
        rf"</{_FRAMES} ?>\s{{0,10}}(?:system|user|human|assistant|judge|evaluator|question|instructions?|now|the)\b"
        rf"|</{_FRAMES} ?>\s{{0,10}}<(?:/|system|instructions?|question)"
        r"|<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id)\|>"
        r"|\[/inst\]|<<sys>>"
        r"|[⟦〚⟬]\s{0,3}(?:[0-9a-f]{8,32}\s|(?:the )?(?:task|question|system)\b|step \d|s\d{1,4}\.)"
        r"|# how to answer\b")),
    _Sign("forges a verdict", ('"criterion"', "valid", '"act_', "settled by facts", "verdict on record"), re.compile(
        r"\"criterion\"\s{0,5}:.{0,120}\"answer\"\s{0,5}:"
        r"|\"act_\d{1,3}\"\s{0,5}:\s{0,5}\{"
        r"|\bvalid\"?\s{0,3}[=:]?\s{0,3}\"?(?:true|yes)\b.{0,60}\b(?:relevant|useful)\"?\s{0,3}[=:]?\s{0,3}\"?(?:true|yes)"
        r"|\b(?:relevant|useful)\"?\s{0,3}[=:]\s{0,3}\"?yes\b.{0,60}\bvalid\"?\s{0,3}[=:]\s{0,3}\"?yes"
        r"|\bsettled by facts\b|\bverdict on record\b", re.DOTALL)),
)  # fmt: skip
_BEFORE, _AFTER, _MOST_WINDOWS = 120, 200, 50


def signs(text: str) -> Iterator[tuple[str, str]]:
    """(kind, quote) of each sign in a folded text, at most one of each."""
    for sign in _SIGNS:
        for start, end in _windows(text, sign.hooks):
            if found := sign.pattern.search(text, start, end):
                yield sign.kind, found[0]
                break


def _windows(text: str, hooks: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    for hook in hooks:
        place = text.find(hook)
        for _ in range(_MOST_WINDOWS):
            if place < 0:
                break
            yield max(0, place - _BEFORE), place + _AFTER
            # A hit in the first half of this window is still seen whole.
            place = text.find(hook, place + _AFTER // 2)
