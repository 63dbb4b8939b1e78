"""An audit renders the prompt of a verdict again from what the ledger stored, and compares digests."""

import anyio

from judge_service.facts import settle
from judge_service.ledger import Ledger
from judge_service.prompt import PROMPT_VERSION, Prompt, prompt
from judge_service.question import Question
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
        return Audit(record=record, prompt=None, prompt_matches=None, state_matches=False)
    return await anyio.to_thread.run_sync(_audit, record, restored(*stored), rubric, after, ledger.fence_key)


def _audit(record: VerdictRecord, trace: Trace, rubric: Rubric | None, after: str, fence_key: str) -> Audit:
    before, _ = states(trace)
    state_matches = before[-1] == after and len(trace.steps) == record.verdict.step
    if record.prompt_digest is None or rubric is None:
        return Audit(record=record, prompt=None, prompt_matches=None, state_matches=state_matches)
    again = _prompt(
        record, trace, rubric, Shown(trace, mark(bytes.fromhex(fence_key), before[0]), reasoning=rubric.shows_reasoning)
    )
    return Audit(
        record=record,
        prompt=f"{again.system}\n{again.user}",
        prompt_matches=again.digest == record.prompt_digest and record.prompt_version == PROMPT_VERSION,
        state_matches=state_matches,
    )


def _prompt(record: VerdictRecord, trace: Trace, rubric: Rubric, shown: Shown) -> Prompt:
    found = record.verdict.facts
    _, asked = settle(rubric, trace.steps[-1], found)
    question = Question(rubric, trace, len(trace.steps), found, asked)
    return prompt(question, shown)
