"""A repository of an attempt is looked at through a git directory of our own, which shares its objects and refs alone.

Its own `.git` can make almost any git command run programs: filters, hooks, file watchers, external diffs, remotes.
Its index can hide changes (`assume-unchanged`, `skip-worktree`), and so can its `info/exclude`. None of them is read.
"""

import os
from pathlib import Path

from stepjudge.checks.check import CannotCheck
from stepjudge.checks.running.clock import Clock
from stepjudge.checks.running.process import Ended, environment, run_process
from stepjudge.checks.running.root import Root
from stepjudge.checks.running.scratch import copy_tree

MAX_LISTING_BYTES = 16 * 2**20
_RULES = (".gitignore", ".gitattributes")
"""Files that say what git does not look at. A new one is a change, whatever ignores it."""
_KEPT = ("core.precomposeunicode",)
"""Settings that say how names on this disk are spelled, run nothing and hide nothing."""
_SAFE = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.pager", "cat"),
    ("core.quotePath", "false"),
    ("protocol.allow", "never"),
    ("safe.directory", "*"),
    # An attempt could set these to hide modes, line ends and links that it changed.
    ("core.fileMode", "true"),
    ("core.autocrlf", "false"),
    ("core.symlinks", "true"),
    ("core.ignoreCase", "false"),
)


def shielded(tree: Root, git_dir: Path, clock: Clock) -> None:
    """Makes our git directory for the work tree."""
    if tree.kind(".git") != "directory" or tree.kind(".git/objects") != "directory":
        raise CannotCheck("there is no repository: `.git` is no folder with objects")
    git_dir.mkdir()
    (git_dir / "refs").mkdir()
    for name in ("HEAD", "packed-refs", "shallow"):
        if tree.kind(f".git/{name}") == "file":
            (git_dir / name).write_bytes(tree.read(f".git/{name}", 64 * 2**20))
    if tree.kind(".git/refs") == "directory":
        copy_tree(tree.inside(".git/refs"), git_dir / "refs", clock)
        _drop_links(git_dir / "refs")
    if tree.kind(".git/objects/info/alternates") != "missing":
        raise CannotCheck("the repository borrows objects from elsewhere: `git repack -a -d` makes it whole")
    (git_dir / "objects").symlink_to(tree.inside(".git/objects"))
    theirs = tree.read(".git/config", 2**20) if tree.kind(".git/config") == "file" else b""
    (git_dir / "theirs").write_bytes(theirs)
    (git_dir / "config").write_text("")


async def changed(tree: Path, git_dir: Path, home: Path, base: str) -> tuple[str, ...]:
    """Paths whose content or mode differs from the base, and untracked ones that the base does not ignore, in order."""
    await _adopt(git_dir, home)
    await _git(tree, git_dir, home, "read-tree", f"{base}^{{tree}}")
    quiet = ("--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all")
    # The index is fresh, so git compares contents and not the times that an attempt could forge.
    differing = await _git(tree, git_dir, home, "diff", "--name-only", "-z", *quiet)
    untracked = await _git(tree, git_dir, home, "ls-files", "--others", "-z")
    ignored = await _ignored(untracked, git_dir, home)
    new = _paths(untracked) - ignored
    new |= {path for path in _paths(untracked) if Path(os.fsdecode(path)).name in _RULES}
    return tuple(sorted(path.decode("utf-8", "replace") for path in _paths(differing) | new))


async def _ignored(untracked: bytes, git_dir: Path, home: Path) -> set[bytes]:
    """Those that the base's ignore files match. They are read from a folder of their own: the attempt wrote the tree."""
    rules = git_dir / "rules"
    rules.mkdir()
    files = await _git(rules, git_dir, home, "ls-files", "-z", "--", ":(glob)**/.gitignore")
    await _git(rules, git_dir, home, "checkout-index", "-z", "--stdin", stdin=files)
    # With `./` in front, no name is taken for one of git's patterns. Status 1: none is ignored.
    asked = b"".join(b"./%s\0" % path for path in _paths(untracked))
    matched = await _git(rules, git_dir, home, "check-ignore", "--no-index", "-z", "--stdin", stdin=asked, fine=(0, 1))
    return {path.removeprefix(b"./") for path in _paths(matched)}


def _paths(listed: bytes) -> set[bytes]:
    return {path for path in listed.split(b"\0") if path}


async def _adopt(git_dir: Path, home: Path) -> None:
    """Takes over the few settings that are safe, and what the format of the repository is."""
    for name in (*_KEPT, "extensions.objectformat"):
        read = await _run(git_dir, git_dir, home, "config", "--file", str(git_dir / "theirs"), "--no-includes", name)
        value = read.stdout.text.strip()
        if read.status == 0 and value in ("true", "false", "input", "lf", "crlf", "native", "sha1", "sha256"):
            version = [] if name in _KEPT else [("core.repositoryformatversion", "1")]
            for setting, word in (*version, (name, value)):
                await _git(git_dir, git_dir, home, "config", "--file", str(git_dir / "config"), setting, word)


async def _git(
    tree: Path, git_dir: Path, home: Path, *argv: str, stdin: bytes = b"", fine: tuple[int, ...] = (0,)
) -> bytes:
    ended = await _run(tree, git_dir, home, *argv, stdin=stdin)
    if ended.status not in fine:
        raise CannotCheck(f"git {argv[0]} ended with {ended.how}: {ended.stderr.text.strip()}")
    if ended.stdout.cut:
        raise CannotCheck(f"git {argv[0]} listed more than {MAX_LISTING_BYTES:,} bytes")
    return bytes(ended.stdout.head)


async def _run(tree: Path, git_dir: Path, home: Path, *argv: str, stdin: bytes = b"") -> Ended:
    own = {
        "GIT_DIR": str(git_dir),
        "GIT_WORK_TREE": str(tree),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
    settings = [word for name, value in _SAFE for word in ("-c", f"{name}={value}")]
    env = environment(home, own)
    return await run_process(["git", *settings, *argv], cwd=tree, env=env, stdin=stdin, limit=MAX_LISTING_BYTES)


def _drop_links(folder: Path) -> None:
    for path in list(folder.rglob("*")):
        if path.is_symlink():
            path.unlink()
