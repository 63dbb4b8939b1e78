"""An audit renders the prompt of a verdict again from what the ledger stored, and compares digests."""

import anyio

from judge_service.facts import settle
from judge_service.ledger import Ledger
from judge_service.prompt import PROMPT_VERSION, Prompt, prompt
from judge_service.question import Question, alone, narrowed
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
    again = prompts_again(record, trace, rubric, shown)
    same = tuple(each.digest for each in again) == record.prompt_digests
    return Audit(
        record=record,
        prompts=tuple(f"{each.system}\n{each.user}" for each in again),
        cuts=tuple(piece.cut for piece in shown.pieces(len(trace.steps)) if piece.cut),
        prompt_matches=same and record.prompt_version == PROMPT_VERSION,
        state_matches=state_matches,
    )


def prompts_again(record: VerdictRecord, trace: Trace, rubric: Rubric, shown: Shown) -> list[Prompt]:
    """The prompts of a verdict. The trace may go on after its step."""
    found, index = record.verdict.facts, record.verdict.step
    _, asked = settle(rubric, trace.steps[index - 1], found)
    question = Question(rubric, trace, index, found, asked)
    if record.asked is not None:
        question = narrowed(question, record.asked)
    return [prompt(part, shown) for part in alone(question)]
