"""Claude Code runs are sessions and, within them, sub-agents: their entries are told apart here.

A sub-agent's entries stand between those of the session (`isSidechain`, or `parent_tool_use_id` in a stream), in
progress reports, or in a file of their own beside the session's, named by the agent's id.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from stepjudge.formats.reading.content import read_content
from stepjudge.formats.reading.format import Origin
from stepjudge.formats.reading.shape import as_object, as_text, identifier, objects, text_or_none
from stepjudge.value import JsonObject

_SPOKEN = ("user", "assistant")


def session_of(entry: JsonObject) -> str | None:
    return identifier(entry.get("sessionId")) or identifier(entry.get("session_id"))


def is_spoken(entry: JsonObject) -> bool:
    return entry.get("type") in _SPOKEN and isinstance(entry.get("message"), dict)


def results_in(entry: JsonObject) -> Iterator[JsonObject]:
    """The tool results of a user's entry."""
    for part in objects(as_object(entry.get("message")).get("content")):
        if part.get("type") == "tool_result":
            yield part


def prompt_of(entry: JsonObject) -> str:
    return read_content(as_object(entry.get("message")).get("content")).text.strip()


def is_prompt(entry: JsonObject) -> bool:
    """Whether a person wrote it: not a result, and nothing that the harness added."""
    added = entry.get("isMeta") or entry.get("isCompactSummary") or any(results_in(entry))
    return entry.get("type") == "user" and not added


def sessions(entries: Iterable[JsonObject]) -> list[list[JsonObject]]:
    """One list for each session. A session that goes on from an entry of another is the same run."""
    latest: list[JsonObject] = []
    runs = [latest]
    of_session: dict[str, list[JsonObject]] = {}
    of_entry: dict[str, list[JsonObject]] = {}
    for entry in entries:
        session = session_of(entry)
        if session is not None and session not in of_session:
            run = of_entry.get(as_text(entry.get("parentUuid"))) if of_session else latest
            if run is None:
                run = list[JsonObject]()
                runs.append(run)
            of_session[session] = run
        latest = of_session[session] if session is not None else latest
        latest.append(entry)
        if uuid := text_or_none(entry.get("uuid")):
            of_entry.setdefault(uuid, latest)
    return [run for run in runs if any(is_spoken(entry) for entry in run)] or runs[:1]


class SubAgents:
    """The entries of a session's sub-agents, each given out once: to the call that started it."""

    def __init__(self, entries: list[JsonObject], origin: Origin) -> None:
        self._origin = origin
        self._session = next((found for entry in entries if (found := session_of(entry))), None)
        self._of_call: defaultdict[str, list[JsonObject]] = defaultdict(list[JsonObject])
        self._of_agent: defaultdict[str, list[JsonObject]] = defaultdict(list[JsonObject])
        self._agents: dict[str, str] = {}
        self._opened: set[str] = set()
        self._roots: dict[str, str] = {}
        spoken = [entry for entry in entries if is_spoken(entry)]
        self.is_agents_own = bool(spoken) and all(entry.get("isSidechain") is True for entry in spoken)
        self.own = [entry for entry in entries if self.is_agents_own or not self._put_aside(entry)]
        self._learn(self.own)
        for aside in (*self._of_call.values(), *self._of_agent.values()):
            self._learn(aside)

    def _put_aside(self, entry: JsonObject) -> bool:
        caller = identifier(entry.get("parent_tool_use_id"))
        report = as_object(entry.get("data"))
        if caller is None and report.get("type") == "agent_progress":
            caller, entry = identifier(entry.get("parentToolUseID")), as_object(report.get("message"))
        if caller is not None:
            self._of_call[caller].append(entry)
        elif entry.get("isSidechain") is True:
            self._of_agent[self._root(entry)].append(entry)
        return caller is not None or entry.get("isSidechain") is True

    def _root(self, entry: JsonObject) -> str:
        """The agent's id or, in sessions of Claude Code 1, the first entry of the chain."""
        uuid = as_text(entry.get("uuid"))
        root = identifier(entry.get("agentId")) or self._roots.get(as_text(entry.get("parentUuid"))) or uuid
        self._roots[uuid] = root
        return root

    def _learn(self, entries: list[JsonObject]) -> None:
        """Which call started which agent: the entry with the call's result says so."""
        for entry in entries:
            stated = as_object(entry.get("toolUseResult", entry.get("tool_use_result")))
            agent = identifier(stated.get("agentId"))
            if agent is None and entry.get("isSidechain") is not True:
                agent = identifier(entry.get("agentId"))
            for result in results_in(entry):
                call = identifier(result.get("tool_use_id"))
                if agent is not None and call is not None:
                    self._agents.setdefault(call, agent)

    def take(self, call: str | None, prompt: str) -> tuple[str | None, list[JsonObject]]:
        """The agent that a call started, as far as it is named, and its entries."""
        agent = self._agents.get(call or "")
        reported = self._of_call.pop(call or "", [])
        entries = self._of_agent.pop(agent, []) if agent is not None else []
        entries = entries or self._file(agent) or reported
        if not entries and prompt:
            root = next((key for key, each in self._of_agent.items() if prompt_of(each[0]) == prompt), None)
            entries = self._of_agent.pop(root) if root is not None else []
        return agent, entries

    def _file(self, agent: str | None) -> list[JsonObject]:
        if agent is None or agent in self._opened:
            return []
        self._opened.add(agent)
        for name in (f"agent-{agent}.jsonl", f"{self._session}/subagents/agent-{agent}.jsonl"):
            found = list(objects(self._origin.sibling(name)))
            if found:
                self._learn(found)
                return found
        return []

    @property
    def left(self) -> int:
        return len(self._of_call) + len(self._of_agent)


def rewound(entries: Iterable[JsonObject]) -> int:
    """How often a person went back to an earlier place and asked anew from there."""
    places = [place for entry in entries if is_prompt(entry) and (place := text_or_none(entry.get("parentUuid")))]
    return len(places) - len(set(places))
