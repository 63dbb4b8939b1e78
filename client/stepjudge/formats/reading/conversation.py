"""A conversation is told from a log of emissions: each was given all of it so far, and only what is new is told.

Calls are those that the model emitted. What ran the tools gives results and errors to them, and never adds a call.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from stepjudge.formats.reading.arguments import read_arguments
from stepjudge.formats.reading.content import Content, compact
from stepjudge.formats.reading.draft import Draft
from stepjudge.formats.reading.emission import Asked, Emission, Execution, Said, called_by

_EARLIER = "a model was given earlier messages of an agent that the log has no emission for: they stand as messages"


def tell_log(draft: Draft, log: Sequence[Emission | Execution]) -> None:
    """Tells emissions and the runs of tools that followed each, in the order of the log."""
    conversation = _Conversation(draft)
    for emission, executions in _grouped(log):
        if emission is not None:
            conversation.give(emission.given)
            conversation.emit(emission, executions)
        else:
            conversation.note_uncalled(executions)
    conversation.give(())


def _grouped(log: Sequence[Emission | Execution]) -> Iterator[tuple[Emission | None, list[Execution]]]:
    emission: Emission | None = None
    executions: list[Execution] = []
    for each in log:
        if isinstance(each, Execution):
            executions.append(each)
            continue
        if emission is not None or executions:
            yield emission, executions
        emission, executions = each, []
    if emission is not None or executions:
        yield emission, executions


class _Conversation:
    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._told: Counter[tuple[str | None, ...]] = Counter()
        self._waiting: list[tuple[Asked, Execution | None]] = []
        self._ids: set[str] = set()

    def give(self, given: Sequence[Said]) -> None:
        """What a model was given before its next emission: results first, so that they stay in their turn."""
        fresh = self._fresh(given)
        for said in fresh:
            if said.role == "tool":
                self._answer(said)
        for asked, execution in self._waiting:
            self._answer_by(asked, execution)
        self._waiting = []
        for said in fresh:
            if said.role != "tool":
                self._tell(said)

    def _fresh(self, given: Sequence[Said]) -> list[Said]:
        seen: Counter[tuple[str | None, ...]] = Counter()
        fresh: list[Said] = []
        for said in given:
            seen[said.key] += 1
            if seen[said.key] > self._told[said.key]:
                self._told[said.key] += 1
                fresh.append(said)
        return fresh

    def _answer(self, said: Said) -> None:
        found = next((each for each in self._waiting if _is_answer(said, each[0])), None)
        if found is None and said.call_id not in self._ids:
            self._draft.note(_EARLIER)
            self._draft.message("tool", said.content, name=said.name, opens_turn=False)
            return
        execution = found[1] if found is not None else None
        asked = found[0] if found is not None else None
        if found is not None:
            self._waiting.remove(found)
        self._draft.result(
            said.content,
            id=said.call_id or (asked.id if asked else None),
            name=said.name or (asked.name if asked else None),
            is_error=said.is_error if said.is_error is not None or execution is None else execution.is_error,
            error_kind=execution.error_kind if execution is not None else None,
        )

    def _answer_by(self, asked: Asked, execution: Execution | None) -> None:
        """No model was given the result: what ran the tool has it, or it is missing."""
        if execution is None or (execution.content is None and not execution.is_error):
            return
        content = execution.content or Content()
        self._told[("tool", asked.id or content.text)] += 1
        self._draft.result(
            content, id=asked.id, name=asked.name, is_error=execution.is_error, error_kind=execution.error_kind
        )

    def _tell(self, said: Said) -> None:
        if said.role != "assistant":
            self._draft.message(said.role, said.content, name=said.name)
            return
        self._draft.note(_EARLIER)
        calls = [f"{each.name}({compact(each.arguments)})" for each in said.calls]
        text = "\n".join(each for each in (said.content.text, *calls) if each)
        self._draft.message("assistant", Content(text, said.content.attachments), name=said.name)

    def emit(self, emission: Emission, executions: list[Execution]) -> None:
        said = emission.said
        if said is None and not executions:
            self._draft.note("the output of a model call was not recorded, and it ran no tool: it is no step here")
            return
        if said is None:
            self._draft.note(
                "the output of a model call was not recorded: its calls are the tool runs that followed it"
            )
            said = called_by(executions)
        matched = _matched(said.calls, executions)
        self._draft.step(
            said.content,
            calls=[
                self._draft.call(
                    asked.name,
                    asked.arguments,
                    id=asked.id,
                    subtraces=execution.subtraces if execution is not None else (),
                )
                for asked, execution in zip(said.calls, matched, strict=True)
            ],
            reasoning=said.reasoning,
            agent=emission.agent,
            model=emission.model,
            usage=emission.usage,
            started_at=emission.started_at,
            extra=emission.extra,
        )
        self._told[said.key] += 1
        self._ids.update(each.id for each in said.calls if each.id)
        self._waiting = list(zip(said.calls, matched, strict=True))
        self.note_uncalled([each for each in executions if not any(each is other for other in matched)])

    def note_uncalled(self, executions: Sequence[Execution]) -> None:
        for each in executions:
            self._draft.note("a tool was run that no recorded emission called: what it gave stands as a message")
            self._draft.message("tool", each.content or Content(), name=each.name, opens_turn=False)
            if each.subtraces:
                self._draft.note("the run of a sub-agent belongs to no call and was left out")


def _is_answer(said: Said, asked: Asked) -> bool:
    if said.call_id is not None and asked.id is not None:
        return said.call_id == asked.id
    return said.name is None or said.name == asked.name


def _matched(calls: Sequence[Asked], executions: Sequence[Execution]) -> list[Execution | None]:
    """The run of each call: by id, else by name and arguments, else by name in order."""
    left = list(executions)
    matched: list[Execution | None] = [None] * len(calls)
    for fits in (_fits_by_id, _fits_by_arguments, _fits_by_name):
        for index, asked in enumerate(calls):
            found = next((each for each in left if matched[index] is None and fits(asked, each)), None)
            if found is not None:
                matched[index] = found
                left = [each for each in left if each is not found]
    return matched


def _fits_by_id(asked: Asked, execution: Execution) -> bool:
    return asked.id is not None and asked.id == execution.call_id


def _fits_by_arguments(asked: Asked, execution: Execution) -> bool:
    """An argument that stands alone may be logged without its name."""
    if not _fits_by_name(asked, execution):
        return False
    values = read_arguments(asked.arguments).values
    alone = list(values.values()) if values is not None else []
    return (
        execution.arguments == asked.arguments
        or values == read_arguments(execution.arguments).values
        or (alone == [execution.arguments])
    )


def _fits_by_name(asked: Asked, execution: Execution) -> bool:
    return asked.name == execution.name and (asked.id is None or execution.call_id is None)
