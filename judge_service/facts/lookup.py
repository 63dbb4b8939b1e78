"""A look-up is a call that, by its name and its arguments, only reads: it changes nothing, so silence and sameness tell.

Facts about look-ups settle answers, so what is not plainly one counts as a change.
"""

import re
from collections.abc import Iterator

from judge_service.facts.command import only_reads
from stepjudge.trace import Call

_NAMESPACE = re.compile(r"__|[./:]")
_NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_WORD = re.compile(r"[A-Za-z]+")
_LONGEST = 20_000

# `get`, `check`, `open` and `look` alone are left out: in a game or a shop they take, book or unlock something.
_ALONE = frozenset({
    "cat", "fetch", "find", "glob", "grep", "list", "lookup", "ls", "query", "read", "retrieve", "search", "view",
})  # fmt: skip
_FIRST = _ALONE | frozenset({"count", "describe", "get", "inspect", "stat"})
_LAST = frozenset({"glob", "grep", "lookup", "query", "retrieval", "retriever", "search"})
# Beside a first word that reads, such as in `find_and_replace` or `list_append`; nouns such as `order` are no sign there.
_ALSO_CHANGING = frozenset({
    "add", "and", "append", "clear", "consume", "create", "delete", "edit", "execute", "increment", "insert", "kill", "mark",
    "modify", "move", "or", "pop", "put", "remove", "replace", "reset", "run", "save", "send", "set", "submit", "then",
    "update", "upsert", "write",
})  # fmt: skip
# Before a last word that may be a noun, as in `save_search`.
_CHANGING = _ALSO_CHANGING | frozenset({
    "apply", "approve", "assign", "book", "call", "cancel", "change", "close", "commit", "copy", "deploy", "disable", "do",
    "download", "enable", "export", "fork", "generate", "go", "import", "invoke", "launch", "load", "log", "make", "merge", "new",
    "open", "order", "perform", "post", "publish", "record", "refresh", "register", "reject", "rename", "request", "restart",
    "schedule", "select", "share", "start", "stop", "store", "subscribe", "switch", "sync", "test", "toggle", "train", "trigger",
    "turn", "type", "undo", "upload", "use",
})  # fmt: skip

# What may be another by the next look although the agent did nothing.
_CHANGING_BY_ITSELF = frozenset({
    "alert", "alerts", "await", "balance", "build", "builds", "chat", "clock", "current", "date", "deployment", "email",
    "emails", "event", "events", "health", "inbox", "job", "jobs", "last", "latest", "live", "log", "logs", "mail", "message",
    "messages", "metrics", "newest", "next", "now", "notification", "notifications", "output", "ping", "poll", "price", "prices",
    "proc", "process", "processes", "progress", "queue", "quote", "rand", "random", "recent", "run", "runs", "sample", "screen",
    "screenshot", "snapshot", "state", "status", "stock", "stocks", "sysdate", "tail", "task", "tasks", "time", "today",
    "uptime", "wait", "watch", "weather",
})  # fmt: skip
_PLACES = frozenset({
    "cmd", "command", "endpoint", "file", "file_path", "filename", "filepath", "path", "script", "uri", "url",
})  # fmt: skip

_SHELLS = frozenset({"bash", "cmd", "command", "console", "powershell", "sh", "shell", "terminal", "zsh"})
_SHELL_WORDS = _SHELLS | frozenset({"exec", "execute", "in", "local", "run", "tool"})
_EDITORS = frozenset({"edit", "editor"})
_DATABASES = frozenset({"database", "db", "graphql", "mysql", "postgres", "query", "sql", "sqlite"})
_SELECTS = re.compile(r"\s*(?:select|show|describe|with)\b", re.IGNORECASE)
_CHANGING_SQL = frozenset({
    "alter", "begin", "call", "commit", "create", "delete", "drop", "exec", "execute", "grant", "insert", "into", "merge",
    "mutation", "nextval", "pragma", "replace", "set", "setval", "subscription", "truncate", "update",
})  # fmt: skip
_SENDS = frozenset({"body", "data", "form", "json", "payload"})


def is_look_up(call: Call) -> bool:
    """Whether the call certainly only reads."""
    if call.arguments_state != "ok" or call.arguments is None:
        return False
    name = _parts(_NAMESPACE.split(call.name)[-1])
    if (command := _command(call)) is not None:
        if set(name) & _SHELLS and set(name) <= _SHELL_WORDS:
            return only_reads(command)
        # Editors make one tool of many commands.
        return command == "view" and bool(set(name) & _EDITORS)
    if set(name) & _DATABASES:
        texts = list(_texts(call))
        if any(_words(text) & _CHANGING_SQL for text in texts):
            return False
        if any(_is_one_select(text) for text in texts):
            return True
    method = call.arguments.get("method", "get")
    return str(method).lower() in ("get", "head") and not _SENDS & set(call.arguments) and _reads_by_name(name)


def may_change_by_itself(call: Call) -> bool:
    """Whether another look may show something else although the agent did nothing, as when it polls a job."""
    arguments = call.arguments or {}
    places = [value for key, value in arguments.items() if key.lower() in _PLACES and isinstance(value, str)]
    spoken = {part for text in (call.name, *arguments, *places) for part in _parts(text[:_LONGEST])}
    selected = {word for text in _texts(call) if _is_one_select(text) for word in _words(text)}
    return bool((spoken | selected) & _CHANGING_BY_ITSELF)


def _reads_by_name(name: list[str]) -> bool:
    if len(name) < 2:
        return bool(name) and name[0] in _ALONE
    if name[0] in _FIRST:
        return not set(name) & _ALSO_CHANGING
    return (name[-1] in _LAST or name[-2:] == ["look", "up"]) and not set(name) & _CHANGING


def _parts(name: str) -> list[str]:
    return [part.lower() for part in _NAME_PART.findall(name)]


def _command(call: Call) -> str | None:
    arguments = call.arguments or {}
    return next((value for key in ("command", "cmd") if isinstance(value := arguments.get(key), str)), None)


def _texts(call: Call) -> Iterator[str]:
    for value in (call.arguments or {}).values():
        if isinstance(value, str):
            yield value


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _is_one_select(text: str) -> bool:
    return len(text) <= _LONGEST and bool(_SELECTS.match(text)) and ";" not in text.rstrip("; \n\t")
