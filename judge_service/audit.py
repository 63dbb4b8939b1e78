"""An audit renders the prompt of a verdict again from what the ledger stored, and compares digests."""

import anyio

from judge_service.facts import settle
from judge_service.ledger import Ledger
from judge_service.prompt import Prompt, prompt, version_under
from judge_service.question import Question, narrowed
from judge_service.shown import Shown, mark
from judge_service.state import next_state, restored, states
from stepjudge.contract import Audit
from stepjudge.rubric import Rubric
from stepjudge.trace import Trace
from stepjudge.verdict import VerdictRecord


async def audited(record: VerdictRecord, ledger: Ledger) -> Audit:
    """Everything about a verdict. What is stored for it may be missing or tampered with: then it does not match."""
    after = next_state(record.state_digest, record.step_digest)
    stored = await ledger.chain(record.state_digest, record.step_digest)
    rubric = await ledger.rubric(record.rubric_digest)
    if stored is None:
        return Audit(record=record, prompts=(), cuts=(), prompt_matches=None, state_matches=False)
    return await anyio.to_thread.run_sync(_audit, record, restored(*stored), rubric, after, ledger.fence_key)


def _audit(record: VerdictRecord, trace: Trace, rubric: Rubric | None, after: str, fence_key: str) -> Audit:
    before, _ = states(trace, reasoning=rubric.shows_reasoning if rubric else False)
    state_matches = before[-1] == after and len(trace.steps) == record.verdict.step
    if not record.prompt_digests or rubric is None:
        return Audit(record=record, prompts=(), cuts=(), prompt_matches=None, state_matches=state_matches)
    fence = mark(bytes.fromhex(fence_key), before[0])
    shown = Shown(trace, fence, reasoning=rubric.shows_reasoning)
    again = prompt_again(record, trace, rubric, shown)
    same = (again.digest,) == record.prompt_digests
    return Audit(
        record=record,
        prompts=(f"{again.system}\n{again.user}",),
        cuts=tuple(piece.cut for piece in shown.pieces(len(trace.steps)) if piece.cut),
        prompt_matches=same and record.prompt_version == version_under(rubric),
        state_matches=state_matches,
    )


def prompt_again(record: VerdictRecord, trace: Trace, rubric: Rubric, shown: Shown) -> Prompt:
    """The prompt of a verdict. The trace may go on after its step."""
    return prompt(question_again(record, trace, rubric), shown)


def question_again(record: VerdictRecord, trace: Trace, rubric: Rubric) -> Question:
    """The question that a verdict answers, with the facts that were found then."""
    found, index = record.verdict.facts, record.verdict.step
    _, asked = settle(rubric, trace.steps[index - 1], found)
    question = Question(rubric, trace, index, found, asked)
    return question if record.asked is None else narrowed(question, record.asked)
