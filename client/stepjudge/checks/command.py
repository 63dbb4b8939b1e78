"""The command check: how a command ends in the final environment, and what it prints."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from stepjudge.checks.check import CannotCheck, Check, CheckEvidence, Finding, Scene
from stepjudge.checks.running.clock import Clock, in_thread
from stepjudge.checks.running.condition import TextCondition
from stepjudge.checks.running.process import Ended, Output, environment, run_process
from stepjudge.checks.running.root import Inside, Root
from stepjudge.checks.running.scratch import Scratch, scratch


def _several(value: object) -> object:
    return (value,) if isinstance(value, int) else value


class Command(Check):
    """One command. It runs in a copy of the environment, with the rights of whoever runs the check."""

    kind: Literal["command"] = "command"
    argv: tuple[str, ...] | str
    """The program and its arguments; one text for a shell only with `shell`."""
    shell: bool = False
    """Whether `argv` is one text for `/bin/sh`."""
    cwd: Inside = "."
    """Where it runs, below the environment's root."""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Variables it gets, beside PATH, HOME, TMPDIR, LANG, LC_ALL, LC_CTYPE, TZ and LD_LIBRARY_PATH."""
    pass_env: tuple[str, ...] = ()
    """Names of variables that are passed on to it. All others are kept from it."""
    stdin: str = ""
    exit_code: Annotated[tuple[int, ...] | None, BeforeValidator(_several)] = (0,)
    """One or several; null: whichever."""
    stdout: TextCondition | None = None
    stderr: TextCondition | None = None
    max_output_bytes: int = Field(default=2**20, gt=0, le=2**30)
    """What is kept of each stream. A condition on a stream that said more is an `error`."""
    in_place: bool = False
    """Whether it runs in the environment itself, and may change it under the other checks."""

    @model_validator(mode="after")
    def _is_a_command(self) -> Self:
        if isinstance(self.argv, str) != self.shell:
            raise ValueError("argv: a list such as [make, test]; one text only with shell: true")
        if not self.argv or not self.argv[0]:
            raise ValueError("argv: is empty")
        words = (self.argv,) if isinstance(self.argv, str) else self.argv
        if any("\0" in word for word in (*words, *self.env, *self.env.values())):
            raise ValueError("argv and env hold no NUL character")
        return self

    async def run(self, scene: Scene) -> Finding:
        root = Root.of(scene)
        async with scratch(None if self.in_place else root.path) as made:
            cwd = (root if self.in_place else Root(made.root)).inside(self.cwd)
            argv = ("/bin/sh", "-c", self.argv) if isinstance(self.argv, str) else self.argv
            env = environment(made.home, self.env, self.pass_env)
            ended = await run_process(argv, cwd=cwd, env=env, stdin=self.stdin.encode(), limit=self.max_output_bytes)
            return await in_thread(lambda clock: self._found(ended, made, clock))

    def _found(self, ended: Ended, made: Scratch, clock: Clock) -> Finding:
        unmet: list[str] = []
        if self.exit_code is not None and ended.status not in self.exit_code:
            unmet.append(f"ended with {ended.how}")
        unmet += self._unmet("stdout", self.stdout, ended.stdout, made, clock)
        unmet += self._unmet("stderr", self.stderr, ended.stderr, made, clock)
        evidence = [CheckEvidence.of("exit", ended.how)]
        for name, output in (("stdout", ended.stdout), ("stderr", ended.stderr)):
            if output.head:
                evidence.append(CheckEvidence.of(name, made.tidy(output.text)))
        command = self.argv if isinstance(self.argv, str) else " ".join(self.argv)
        reason = f"{command!r} {', '.join(unmet) or f'ended with {ended.how}, as it must'}"
        return Finding(outcome="fail" if unmet else "pass", reason=reason, evidence=tuple(evidence))

    def _unmet(
        self, name: str, condition: TextCondition | None, output: Output, made: Scratch, clock: Clock
    ) -> list[str]:
        if condition is None:
            return []
        if output.cut:
            raise CannotCheck(f"{name} is longer than {self.max_output_bytes:,} bytes: raise max_output_bytes")
        return [f"printed a {name} that {unmet}" for unmet in condition.unmet(made.tidy(output.text), clock)]
