"""A patch is a unified diff from the suite, which git applies to a folder without looking for a repository around it."""

from pathlib import Path

from stepjudge.checks.check import CannotCheck
from stepjudge.checks.running.process import Ended, environment, run_process


async def apply(patch: bytes, folder: Path, home: Path) -> None:
    """Applies the patch to the folder's files. Raises CannotCheck when it does not fit."""
    ended = await run_apply(patch, folder, home)
    if ended.status != 0:
        raise CannotCheck(f"the patch does not apply to the environment: {ended.stderr.text.strip()}")


async def run_apply(patch: bytes, folder: Path, home: Path, *options: str) -> Ended:
    """How `git apply` ended."""
    # Without a repository, git takes no configuration from one. It refuses paths that leave the folder by itself.
    outside = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        "GIT_DIR": "/dev/null",
        "LC_ALL": "C",
    }
    argv = ["git", "apply", "--whitespace=nowarn", *options, "-"]
    return await run_process(argv, cwd=folder, env=environment(home, outside), stdin=patch)
