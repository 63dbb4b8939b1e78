"""Running the checks of one attempt: all at once, each under its own time limit, and nothing goes on afterwards."""

import time
from collections import Counter
from collections.abc import Sequence

import anyio

from stepjudge.checks.check import BadCheck, CannotCheck, Check, CheckEvidence, CheckResult, Finding, Scene


async def run_checks(checks: Sequence[Check], scene: Scene) -> tuple[CheckResult, ...]:
    """The results, in the order of the checks. Raises BadCheck when two checks are given one name."""
    results: dict[int, CheckResult] = {}

    async def one(number: int, name: str, check: Check) -> None:
        began = time.monotonic()
        finding = await _finding(check, scene)
        results[number] = CheckResult.of(name, check.kind, finding, time.monotonic() - began)

    async with anyio.create_task_group() as group:
        for number, (name, check) in enumerate(zip(names(checks), checks, strict=True)):
            group.start_soon(one, number, name, check)
    return tuple(results[number] for number in range(len(checks)))


def names(checks: Sequence[Check]) -> tuple[str, ...]:
    """The name of each check: its own, or else its kind, numbered from the second one on. Raises BadCheck on repeats."""
    given = Counter(check.name for check in checks if check.name is not None)
    if repeated := [name for name, times in given.items() if times > 1]:
        raise BadCheck(f"name: {', '.join(map(repr, repeated))} stands at more than one check")
    taken = set(given)
    return tuple(check.name if check.name is not None else _free(check.kind, taken) for check in checks)


def _free(kind: str, taken: set[str]) -> str:
    name, number = kind, 1
    while name in taken:
        number += 1
        name = f"{kind}-{number}"
    taken.add(name)
    return name


async def _finding(check: Check, scene: Scene) -> Finding:
    try:
        with anyio.fail_after(check.timeout_s):
            return await check.run(scene)
    except (BadCheck, CannotCheck) as error:
        return Finding(outcome="error", reason=str(error))
    except TimeoutError:
        return Finding(outcome="error", reason=f"the check was not done after {check.timeout_s:g} s")
    except ModuleNotFoundError as error:
        return Finding(
            outcome="error", reason=f"the check needs the package {error.name!r}: pip install 'stepjudge[evaluate]'"
        )
    # Checks are plug-ins that meet what hostile agents left: what one of them stumbles over says nothing of the attempt
    # and must not take the outcomes of its neighbours along.
    except Exception as error:
        return Finding(
            outcome="error",
            reason=f"the check broke: {type(error).__name__}: {error}",
            evidence=(CheckEvidence.of("exception", repr(error)),),
        )
