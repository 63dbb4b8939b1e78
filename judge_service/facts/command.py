"""A command line only reads when every command in it is one that is known to, and nothing is written anywhere."""

import re
import shlex

_LONGEST = 1_000
_READERS = frozenset({
    "cat", "cut", "egrep", "fgrep", "find", "grep", "head", "ls", "nl", "pwd", "rg", "stat", "tail", "tr", "wc", "which",
})  # fmt: skip
_GIT = frozenset({"blame", "diff", "log", "ls-files", "show", "status"})

# With these a reader runs, writes or waits. Prefixes, since options may be joined to their value.
_UNSAFE = {
    "find": ("-exec", "-ok", "-delete", "-fprint", "-fls"),
    "rg": ("--pre", "--hostname-bin"),
    "tail": ("-f", "-F", "--follow", "--retry"),
    "git": ("--output", "--ext-diff", "--textconv", "-c", "--exec-path", "--paginate"),
}
_LINE_RANGE = re.compile(r"\d+(?:,(?:\d+|\$))?p")
_SILENCED = re.compile(r"(?<=\s)(?:[12&]?>\s?/dev/null|2>&1)(?=\s|$)")
# Substitutions run commands of their own, and shlex splits lines and `$'…'` otherwise than a shell does.
_BEYOND_SHLEX = ("`", "$(", "$'", '$"', "\n", "\r")
_BETWEEN = frozenset({"|", "|&", "||", "&&", ";"})
_PUNCTUATION = frozenset("();<>|&")


def only_reads(line: str) -> bool:
    """Whether every command in the line certainly does."""
    line = line.strip()
    if len(line) > _LONGEST or any(sign in line for sign in _BEYOND_SHLEX):
        return False
    splitter = shlex.shlex(_SILENCED.sub("", line), posix=True, punctuation_chars=True)
    splitter.whitespace_split = True
    splitter.commenters = ""
    try:
        words = list(splitter)
    except ValueError:
        return False
    commands: list[list[str]] = [[]]
    for word in words:
        if word in _BETWEEN:
            commands.append([])
        elif word and set(word) <= _PUNCTUATION:
            return False
        else:
            commands[-1].append(word)
    if words and words[-1] == ";":
        commands.pop()
    # Over the whole line, since a quoted `|` looks like one that ends a command.
    unsafe = tuple(option for command in commands if command for option in _UNSAFE.get(command[0], ()))
    if unsafe and any(word.startswith(unsafe) for word in words):
        return False
    return any(map(_reads, commands)) and all(_reads(command) or _moves_only(command) for command in commands)


def _reads(command: list[str]) -> bool:
    if not command:
        return False
    name, *rest = command
    if name == "git":
        return bool(rest) and rest[0] in _GIT
    if name == "sed":
        return (
            len(rest) >= 2 and rest[0] == "-n" and _LINE_RANGE.fullmatch(rest[1]) is not None and not _options(rest[2:])
        )
    return name in _READERS


def _options(words: list[str]) -> bool:
    return any(word.startswith("-") for word in words)


def _moves_only(command: list[str]) -> bool:
    """A move to a fixed place, so that what follows is the same however often it is said."""
    return len(command) == 2 and command[0] == "cd" and command[1].startswith("/")
