"""The tests check: which of the environment's tests pass, by a JUnit report, as SWE-bench asks it."""

import shutil
from pathlib import Path, PurePosixPath
from typing import Literal, Self

import anyio
from pydantic import Field, model_validator

from stepjudge.checks.check import CannotCheck, Check, CheckEvidence, Finding, Scene
from stepjudge.checks.running.clock import in_thread
from stepjudge.checks.running.junit import BadReport, Case, key, read_report
from stepjudge.checks.running.patch import apply
from stepjudge.checks.running.process import Ended, Unguarded, environment, run_process
from stepjudge.checks.running.root import Inside, Root
from stepjudge.checks.running.scratch import Scratch, copy_tree, scratch

REPORT = "{report}"
TESTS = "{tests}"
MAX_REPORT_BYTES = 64 * 2**20


class Tests(Check):
    """Tests of the environment. They run in a copy of it, with the rights of whoever runs the check."""

    kind: Literal["tests"] = "tests"
    argv: tuple[str, ...] = ()
    """What runs the tests. `{report}` in it stands for the path of the JUnit XML that it writes, and the word `{tests}`
    for all of `fail_to_pass` and `pass_to_pass`. Empty: nothing is run, and `report` is read as the attempt left it."""
    report: Inside | None = None
    """Path of the JUnit XML, where `argv` does not say `{report}`."""
    fail_to_pass: tuple[str, ...] = ()
    """Tests that the attempt had to make pass: pytest's node ids, or `classname::name` as in the report."""
    pass_to_pass: tuple[str, ...] = ()
    """Tests that passed before and must still."""
    restore: dict[str, Inside] = Field(default_factory=dict[str, str])
    """Folders of the copy that are replaced by folders of the suite before anything runs, such as
    `{testing: hidden/testing}`: what the attempt did to its tests does not count."""
    patch: Inside | None = None
    """A patch in the suite's folder that is then applied to the copy."""
    cwd: Inside = "."
    env: dict[str, str] = Field(default_factory=dict[str, str])
    pass_env: tuple[str, ...] = ()
    without_report: Literal["error", "fail"] = "error"
    """What it means when the tests ran and left no readable report, also when they killed what guards them or the report
    is too large. `fail` where the project under test can break its own runner, and the environment is known to be sound."""
    timeout: Literal["error", "fail"] = "error"
    """What it means when the tests run out of time. `fail` where the attempt can make them hang, and `timeout_s` (in which
    the environment is copied, too) is ample."""
    timeout_s: float = Field(default=600, gt=0, le=86_400)

    @model_validator(mode="after")
    def _has_one_report(self) -> Self:
        writes = any(REPORT in word for word in self.argv)
        if writes == (self.report is not None):
            raise ValueError(f"give a report, or an argv that says where {REPORT} goes, and not both")
        if not self.argv and (self.patch or self.restore):
            raise ValueError("argv: without it nothing is run, so patch and restore change nothing")
        return self

    async def run(self, scene: Scene) -> Finding:
        root = Root.of(scene)
        if not self.argv:
            assert self.report is not None
            return self._read(root, self.report, ())
        async with scratch(root.path) as made:
            await self._prepare(scene, made)
            try:
                ended = await self._run_in_time(made)
            except Unguarded as error:
                return Finding(outcome=self.without_report, reason=str(error))
            if ended is None:
                return Finding(outcome=self.timeout, reason=f"the tests were not done after {self.timeout_s:g} s")
            return await in_thread(lambda _: self._ran(ended, made))

    async def _run_in_time(self, made: Scratch) -> Ended | None:
        # Given up a little before the check itself is, which would be an error.
        deadline = anyio.current_effective_deadline() - min(1, self.timeout_s / 20)
        with anyio.CancelScope(deadline=deadline):
            return await self._run(made)

    def _ran(self, ended: Ended, made: Scratch) -> Finding:
        folder, path = (Root(made.out), "report.xml") if self.report is None else (Root(made.root), self.report)
        try:
            return self._read(folder, path, _told(ended, made))
        except CannotCheck as error:
            return Finding(outcome=self.without_report, reason=str(error))

    async def _prepare(self, scene: Scene, made: Scratch) -> None:
        inside = Root(made.root)
        for target, source in self.restore.items():
            restored, over = Root.of_suite(scene).inside(source), _removed(inside, target)
            await in_thread(lambda clock, here=restored, there=over: copy_tree(here, there, clock))
        if self.patch is not None:
            await apply(Root.of_suite(scene).read(self.patch, MAX_REPORT_BYTES), made.root, made.home)
        if self.report is not None and inside.kind(self.report) == "file":
            # One that the attempt left must not be taken for that of this run.
            await anyio.Path(made.root, self.report).unlink()

    async def _run(self, made: Scratch) -> Ended:
        named = (*self.fail_to_pass, *self.pass_to_pass)
        words = [each for word in self.argv for each in (named if word == TESTS else (word,))]
        argv = [word.replace(REPORT, str(made.out / "report.xml")) for word in words]
        env = environment(made.home, self.env, self.pass_env)
        return await run_process(argv, cwd=Root(made.root).inside(self.cwd), env=env)

    def _read(self, folder: Root, path: str, told: tuple[CheckEvidence, ...]) -> Finding:
        try:
            if folder.kind(path) == "missing":
                raise BadReport("there is no report")
            return self._found(read_report(folder.read(path, MAX_REPORT_BYTES)))
        except BadReport as error:
            return Finding(outcome=self.without_report, reason=f"the tests cannot be told: {error}", evidence=told)

    def _found(self, cases: dict[str, Case]) -> Finding:
        if not self.fail_to_pass and not self.pass_to_pass:
            return self._all(cases)
        lines: list[str] = []
        counts: list[str] = []
        for title, tests in (("FAIL_TO_PASS", self.fail_to_pass), ("PASS_TO_PASS", self.pass_to_pass)):
            found = {test: cases.get(key(test)) for test in tests}
            passed = sum(case is not None and case.ending == "passed" for case in found.values())
            lines += [_line(f"{title} {test}", case) for test, case in found.items() if self._tells(title, case)]
            counts += [f"{passed} of {len(tests)} {title}"] if tests else []
        met = all(_passed(cases.get(key(test))) for test in (*self.fail_to_pass, *self.pass_to_pass))
        evidence = (CheckEvidence.of("tests", "\n".join(lines)),)
        return Finding(outcome="pass" if met else "fail", reason=f"{' and '.join(counts)} pass", evidence=evidence)

    def _tells(self, title: str, case: Case | None) -> bool:
        return title == "FAIL_TO_PASS" or not self.fail_to_pass or not _passed(case)

    def _all(self, cases: dict[str, Case]) -> Finding:
        bad = {test: case for test, case in cases.items() if case.ending in ("failed", "error")}
        ran = sum(case.ending != "skipped" for case in cases.values())
        if not ran:
            return Finding(outcome=self.without_report, reason="no test ran")
        lines = "\n".join(_line(test, case) for test, case in (bad or cases).items())
        return Finding(
            outcome="fail" if bad else "pass",
            reason=f"{ran - len(bad)} of {ran} tests that ran pass",
            evidence=(CheckEvidence.of("tests", lines),),
        )


def _removed(root: Root, folder: str) -> Path:
    """Where the folder was. Copying over it would follow links that the attempt planted, and keep its own files."""
    path = root.inside(str(PurePosixPath(folder).parent)) / PurePosixPath(folder).name
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    return path


def _passed(case: Case | None) -> bool:
    return case is not None and case.ending == "passed"


def _line(test: str, case: Case | None) -> str:
    if case is None:
        return f"{test}: missing"
    first = case.message.strip().partition("\n")[0][:200]
    return f"{test}: {case.ending}{f': {first}' if first else ''}"


def _told(ended: Ended, made: Scratch) -> tuple[CheckEvidence, ...]:
    if ended.status in (126, 127) and not ended.stdout.head:
        raise CannotCheck(f"the tests could not be run: {made.tidy(ended.stderr.end).strip()}")
    said = [("exit", ended.how), ("stdout", ended.stdout.end), ("stderr", ended.stderr.end)]
    return tuple(CheckEvidence.of(name, made.tidy(text)) for name, text in said if text.strip())
