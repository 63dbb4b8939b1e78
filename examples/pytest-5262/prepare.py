"""Prepares the environment of the example, so that the real repository's tests can run in it without a network.

    python examples/pytest-5262/prepare.py                     # what the recorded agent left, in place
    python examples/pytest-5262/prepare.py --base FOLDER       # the same without the agent's change, elsewhere

The recorded state differs from pytest 4.5.0 in one file, `environment/src/_pytest/capture.py`. All other sources are
those of the wheel, which are the repository's at the base commit, byte by byte. They and the packages that pytest 4.5
needs are installed by `pip`, pinned with their digests in requirements.txt.
"""

import argparse
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "environment"
CHANGED = Path("src/_pytest/capture.py")
SOURCES = ("pytest.py", "_pytest", "pytest-4.5.0.dist-info")


def main() -> None:
    asked = argparse.ArgumentParser(description="Prepares the environment of the example.")
    asked.add_argument("folder", nargs="?", type=Path, default=RECORDED, help="where; in place when not given")
    asked.add_argument("--base", action="store_true", help="without the agent's change; needs a folder")
    given = asked.parse_args()
    if given.base and given.folder.resolve() == RECORDED:
        asked.error("--base would undo what the agent did: name another folder")
    if sys.version_info >= (3, 12):
        asked.error("pytest 4.5 does not run on Python 3.12 or later: use 3.9, 3.10 or 3.11")
    prepare(given.folder.resolve(), base=given.base)


def prepare(folder: Path, *, base: bool) -> None:
    if folder != RECORDED:
        shutil.copytree(RECORDED, folder, ignore=shutil.ignore_patterns(".venv", "src"), dirs_exist_ok=True)
    shutil.rmtree(folder / ".venv", ignore_errors=True)
    packages = install(folder / ".venv")
    changed = (RECORDED / CHANGED).read_bytes()
    for name in SOURCES:
        remove(folder / "src" / name)
        (folder / "src").mkdir(exist_ok=True)
        shutil.move(packages / name, folder / "src" / name)
    if not base:
        (folder / CHANGED).write_bytes(changed)
    # As an editable install does it, but relative: the folder may be copied.
    (packages / "sources.pth").write_text("../../../../src\n")


def install(environment: Path) -> Path:
    venv.create(environment, with_pip=True, symlinks=True)
    python = environment / "bin" / "python"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet", "--no-input")
    options = ("--no-deps", "--no-compile", "--only-binary=:all:", "--require-hashes")
    subprocess.run([*pip, "install", *options, "-r", HERE / "requirements.txt"], check=True)
    subprocess.run([*pip, "uninstall", "--yes", "pip"], check=True)
    (packages,) = environment.glob("lib/python3.*/site-packages")
    return packages


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
