"""A repository of an attempt is looked at through a git directory of our own, which shares its objects and refs alone.

Its own `.git` can make almost any git command run programs: filters, hooks, file watchers, external diffs, remotes.
Its index can hide changes (`assume-unchanged`, `skip-worktree`), and so can its `info/exclude`. None of them is read.
"""

from pathlib import Path

from stepjudge.checks.check import CannotCheck
from stepjudge.checks.running.clock import Clock
from stepjudge.checks.running.process import Ended, environment, run_process
from stepjudge.checks.running.root import Root
from stepjudge.checks.running.scratch import copy_tree

MAX_LISTING_BYTES = 16 * 2**20
_KEPT = ("core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode")
"""Settings that say how files on this disk compare with stored ones, and run nothing."""
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
    """Paths whose content or mode differs from the base, and untracked ones that are not ignored, in order."""
    await _adopt(git_dir, home)
    await _git(tree, git_dir, home, "read-tree", f"{base}^{{tree}}")
    quiet = ("--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all")
    # The index is fresh, so git compares contents and not the times that an attempt could forge.
    differing = await _git(tree, git_dir, home, "diff", "--name-only", "-z", *quiet)
    untracked = await _git(tree, git_dir, home, "ls-files", "--others", "--exclude-standard", "-z")
    return tuple(sorted({path for listed in (differing, untracked) for path in listed.split("\0") if path}))


async def _adopt(git_dir: Path, home: Path) -> None:
    """Takes over the few settings that are safe, and what the format of the repository is."""
    for name in (*_KEPT, "extensions.objectformat"):
        read = await _run(git_dir, git_dir, home, "config", "--file", str(git_dir / "theirs"), "--no-includes", name)
        value = read.stdout.text.strip()
        if read.status == 0 and value in ("true", "false", "input", "lf", "crlf", "native", "sha1", "sha256"):
            version = [] if name in _KEPT else [("core.repositoryformatversion", "1")]
            for setting, word in (*version, (name, value)):
                await _git(git_dir, git_dir, home, "config", "--file", str(git_dir / "config"), setting, word)


async def _git(tree: Path, git_dir: Path, home: Path, *argv: str) -> str:
    ended = await _run(tree, git_dir, home, *argv)
    if ended.status != 0:
        raise CannotCheck(f"git {argv[0]} ended with {ended.how}: {ended.stderr.text.strip()}")
    if ended.stdout.cut:
        raise CannotCheck(f"git {argv[0]} listed more than {MAX_LISTING_BYTES:,} bytes")
    return ended.stdout.text


async def _run(tree: Path, git_dir: Path, home: Path, *argv: str) -> Ended:
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
    return await run_process(["git", *settings, *argv], cwd=tree, env=environment(home, own), limit=MAX_LISTING_BYTES)


def _drop_links(folder: Path) -> None:
    for path in list(folder.rglob("*")):
        if path.is_symlink():
            path.unlink()
