"""What a model reads is pinned: a change of it must come with a new prompt version, or stale verdicts are served."""

from dataclasses import replace
from pathlib import Path

from inline_snapshot import snapshot

from judge_service.facts import facts, settle
from judge_service.judge import Case, NamedJudge
from judge_service.judges.rules import RulesJudge
from judge_service.prompt import PROMPT_VERSION, prompt
from judge_service.question import Question
from judge_service.reply import schema
from judge_service.shown import Shown
from stepjudge.digest import digest
from stepjudge.formats import read_file
from stepjudge.rubric_file import read_rubric_file, shipped

(TRACE,) = read_file(Path("examples/museum/trace.json"))
RUBRIC = read_rubric_file(shipped() / "step" / "1.0.0.yaml")


def question(index: int) -> Question:
    found = facts(TRACE)[index - 1]
    _, asked = settle(RUBRIC, TRACE.steps[index - 1], found)
    return Question(RUBRIC, TRACE, index, found, asked)


def test_the_prompt_and_the_reply_schema_change_only_with_their_version() -> None:
    shown = Shown(TRACE, "0" * 16, reasoning=False)
    asked = [question(index) for index in range(1, len(TRACE.steps) + 1)]
    prompts = [prompt(each, shown).digest for each in asked]
    schemas = [digest(schema(each.form)) for each in asked]

    # Changed? Then raise the version in prompt.py, reply.py or facts/__init__.py, and run pytest --inline-snapshot=fix.
    assert (PROMPT_VERSION, digest([*prompts]), digest([*schemas])) == snapshot(
        (
            "prompt 2, reply 1, facts 2",
            "sha256:225c5ca29b81baaadbef931db6b421a6f331645455807d7d01a00c993281a815",
            "sha256:4f60a14567798806207a8b683fa8a54c0baf477a456dd03ebdc6d75007850083",
        )
    )


def test_another_prompt_version_is_another_key() -> None:
    case = Case(TRACE, RUBRIC, NamedJudge("rules", RulesJudge()), (1,))
    assert replace(case, prompt_version="prompt 0").key(1) != case.key(1)
    assert replace(case, sample=1).key(1) != case.key(1)
    assert replace(case, indices=(1, 2), budget_usd=3.0).key(1) == case.key(1)
