"""Drift: a judge that is asked the same at different times, and a provider that changes the model under its name."""

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stepjudge.client import JudgeClient
from stepjudge.contract import VerdictSummary
from stepjudge.drift import Drift, drift
from stepjudge.label import Label
from stepjudge.rubric import AnswerWord

from commands import Commands, written
from fakes.provider import Provider, Reply, Request
from scripted import Scripted, asked_step
from traces import call, step, trace

SAMPLE = [
    trace(
        *(step(n, call("view", f"line {n}", path=f"/{name}/{n}")) for n in range(1, 9)),
        trace_id=name,
        task=f"Look into {name}.",
    )
    for name in ("pump", "motor")
]


def verdict(
    key: int, at: int, useful: AnswerWord, *, model: str = "m-1", digest: str = "a", **fields: Any
) -> VerdictSummary:
    return VerdictSummary(
        verdict_id=f"{key}-{at}",
        key=f"{digest} {key}",
        created_at=f"2026-01-{at:02}T00:00:00.000Z",
        rubric="step@1.0.0",
        judge="fast",
        judge_digest=digest,
        model=model,
        partial=fields.get("partial", False),
        state_digest=f"state {key}",
        step_digest=f"step {key}",
        step=1,
        answers={"useful": (useful,)},
        undetermined=0,
        cost_usd=0.0,
    )


def rounds(*passes: Iterable[AnswerWord], **fields: Any) -> Drift:
    """A verdict per question and pass, one pass a day."""
    verdicts = [
        verdict(key, at, word, **fields) for at, words in enumerate(passes, start=1) for key, word in enumerate(words)
    ]
    return drift("fast", "step@1.0.0", verdicts[::-1], {})


def noisy(seed: int, share: float, count: int = 100) -> list[AnswerWord]:
    """Answers of which about this share is no, mostly to the same questions whatever the seed."""
    random = Random(seed)
    return ["no" if (n % 10 < 10 * share) != (random.random() < 0.05) else "yes" for n in range(count)]


def test_a_judge_that_only_varies_as_ever_raises_no_alarm() -> None:
    report = rounds(*(noisy(seed, 0.3) for seed in range(6)))
    assert (report.rounds, len(report.comparisons), report.warnings) == (6, 6, ())
    assert all(each.flips.numerator > 0 for each in report.comparisons)


def test_false_alarms_are_rarer_than_the_level() -> None:
    alarms = sum(bool(rounds(*(noisy(1_000 * run + n, 0.3, 60) for n in range(4))).warnings) for run in range(60))
    assert alarms <= 6


CRITERIA = ("valid", "arguments", "relevant", "useful", "recovery")


def false_alarms(*, together: bool, count: int = 60, days: int = 2, runs: int = 60) -> int:
    """Of a judge that only wavers on three steps of ten, on each criterion by itself or on all of them together."""
    return sum(bool(wavering(Random(seed), together, count, days).warnings) for seed in range(runs))


def wavering(random: Random, together: bool, count: int, days: int) -> Drift:
    verdicts: list[VerdictSummary] = []
    for key in range(count):
        usual, wavers = random.random() < 0.5, random.random() < 0.3
        for day in range(1, days + 1):
            flips = [wavers and random.random() < 0.4 for _ in CRITERIA]
            if together:
                flips = flips[:1] * len(CRITERIA)
            words = {name: ("yes" if usual != flip else "no",) for name, flip in zip(CRITERIA, flips, strict=True)}
            verdicts.append(verdict(key, day, "yes").model_copy(update={"answers": words}))
    return drift("fast", "step@1.0.0", verdicts, {})


@pytest.mark.parametrize("together", [True, False])
def test_false_alarms_are_as_rare_when_the_criteria_of_a_step_move_together(together: bool) -> None:
    assert false_alarms(together=together) <= 6  # 3 expected at most; counting answers gave 18 to 27


def test_a_step_counts_once_however_many_of_its_answers_moved() -> None:
    both = [
        verdict(1, day, "yes").model_copy(update={"answers": dict.fromkeys(CRITERIA, (word,))})
        for day, word in ((1, "yes"), (2, "no"))
    ]
    (found,) = drift("fast", "step@1.0.0", both, {}).comparisons
    assert (found.direction.first_only, found.direction.second_only, found.flips.numerator) == (1, 0, 5)


def test_a_shift_in_answers_is_dated() -> None:
    report = rounds(noisy(1, 0.3), noisy(2, 0.3), noisy(3, 0.5), noisy(4, 0.5))

    assert [each.round for each in report.comparisons if each.warnings] == [3, 4]
    (first, *_) = report.warnings
    assert "since 2026-01-03" in first
    (shift,) = [each for each in report.comparisons if each.round == 3]
    assert shift.direction.first_only > shift.direction.second_only + 10
    assert shift.criteria[0].yes_before > shift.criteria[0].yes_after
    assert report.comparisons[-1].since == 1, "the last warning is of the last round beside the first"


def test_changes_in_both_directions_are_seen_as_more_changes_than_usual() -> None:
    both: list[AnswerWord] = ["yes", "no"]
    steady, turned = both * 40, both[::-1] * 10 + both * 30
    report = rounds(steady, steady, turned)

    (found,) = [each for each in report.comparisons if each.round == 3 and each.since == 2]
    assert found.direction.p_value == 1
    assert "more answers change than before" in found.warnings[0]


def test_what_creeps_shows_beside_the_first_round() -> None:
    passes: list[list[AnswerWord]] = [["no" if n < 3 * day else "yes" for n in range(60)] for day in range(5)]
    report = rounds(*passes)

    assert [each.warnings != () for each in report.comparisons] == [False, False, False, False, True]
    assert "between 2026-01-01" in report.warnings[0]


def test_another_model_under_the_name_is_told_although_no_answer_changed() -> None:
    words: list[AnswerWord] = ["yes"] * 5
    verdicts = [verdict(n, day, word, model=f"m-{day // 3}") for day in (1, 2, 3) for n, word in enumerate(words)]
    report = drift("fast", "step@1.0.0", verdicts, {})

    (warning,) = report.warnings
    assert warning == "since 2026-01-03T00:00:00.000Z the provider runs m-1 where it ran m-0"


def test_another_specification_is_told_and_its_answers_are_not_compared() -> None:
    verdicts = [verdict(1, 1, "yes"), verdict(1, 2, "no", digest="b"), verdict(1, 3, "yes", partial=True)]
    report = drift("fast", "step@1.0.0", verdicts, {})

    assert (report.specifications, report.comparisons, report.verdicts) == (2, (), 2)
    assert report.warnings == ("fast has another specification since 2026-01-02T00:00:00.000Z",)


def test_a_question_is_compared_with_its_own_last_answer_whatever_came_between() -> None:
    verdicts = [
        verdict(1, 1, "yes"),
        verdict(2, 1, "yes"),
        verdict(1, 2, "yes"),
        verdict(2, 3, "no"),
        verdict(1, 4, "no"),
    ]
    report = drift("fast", "step@1.0.0", verdicts, {})

    flips = [(each.questions, each.flips.numerator) for each in report.comparisons if each.since == each.round - 1]
    assert flips == [(2, 1), (1, 1)]


def test_an_answer_that_is_lost_is_counted_apart() -> None:
    report = drift("fast", "step@1.0.0", [verdict(1, 1, "yes"), verdict(1, 2, "undetermined")], {})
    (found,) = report.comparisons
    assert (found.lost, found.flips.denominator, found.flips.value) == (1, 0, None)


def test_labels_tell_whether_it_got_worse() -> None:
    labels = {(f"state {n}", f"step {n}", "useful", 0): "yes" for n in range(40)}
    worse: list[AnswerWord] = ["no" if n < 12 else "yes" for n in range(40)]
    verdicts = [verdict(n, day, word) for day, words in ((1, ["yes"] * 40), (2, worse)) for n, word in enumerate(words)]  # type: ignore[arg-type]
    (found,) = drift("fast", "step@1.0.0", verdicts, labels).comparisons

    assert found.agreement is not None
    assert (found.agreement.first_only, found.agreement.second_only) == (12, 0)
    assert any("agrees otherwise with people" in warning for warning in found.warnings)


# Through the service


class Shifting:
    """A provider's model that is exchanged one day."""

    def __init__(self) -> None:
        self.model = "fake-2026-01"
        self.noes = 0
        """Steps, of 8, that it answers with no."""

    def __call__(self, request: Request) -> Reply:
        word = "no" if asked_step(request) <= self.noes else "yes"
        script = Scripted(lambda _s, _u, name: "not_applicable" if name == "recovery" else word)
        return Reply(script(request), model=self.model)


@pytest.fixture
def script() -> Shifting:
    return Shifting()


def test_a_model_that_is_exchanged_under_its_name_is_found_by_judging_a_stored_sample_again(
    tmp_path: Path, script: Shifting
) -> None:
    sample = written(tmp_path / "sample.jsonl", *SAMPLE)
    command = Commands(tmp_path / "data")
    with Provider(script) as provider:
        flags = ("--judge", "openai/fake", "--api-base", provider.base_url)
        first = command.json("audit", "drift", sample, *flags)
        second = command.json("audit", "drift", sample, *flags)
        price = command.json("audit", "drift", sample, *flags, "--dry-run")
        script.model, script.noes = "fake-2026-02", 5
        third = command.json("audit", "drift", sample, *flags, "--fail", status=1)
        page = command.run("audit", "drift", *flags)

    assert (first["rounds"], first["comparisons"]) == (1, [])
    assert (second["rounds"], second["warnings"], price["requests"]) == (2, [], 16)
    told = " / ".join(third["warnings"])
    assert "the provider runs fake-2026-02 where it ran fake-2026-01" in told
    assert "from yes, 0 to yes" in told
    assert third["comparisons"][1]["models_after"] == ["fake-2026-02"]
    # without a sample, the ledger alone says the same
    assert "WARNING: since" in page
    assert "fake-2026-02" in page


def test_labels_of_the_ledger_are_used(tmp_path: Path, script: Shifting) -> None:
    sample = written(tmp_path / "sample.jsonl", *SAMPLE)
    command = Commands(tmp_path / "data")
    with Provider(script) as provider:
        flags = ("--judge", "openai/fake", "--api-base", provider.base_url)
        command.json("audit", "drift", sample, *flags)
        _label(tmp_path / "data", provider.base_url)
        script.noes = 4
        report = command.json("audit", "drift", sample, *flags)

    (found,) = report["comparisons"]
    assert (found["agreement"]["first_only"], found["agreement"]["alike"]) == (8, 8)


def test_another_judge_s_verdicts_are_left_out(tmp_path: Path, script: Shifting) -> None:
    sample = written(tmp_path / "sample.jsonl", *SAMPLE)
    command = Commands(tmp_path / "data")
    with Provider(script) as provider:
        command.json("audit", "drift", sample, "--judge", "openai/fake", "--api-base", provider.base_url)
    report = command.json("audit", "drift", sample, "--judge", "rules")
    assert (report["judge"], report["verdicts"]) == ("rules", 16)
    assert "no step was judged twice" in command.run("audit", "drift", "--judge", "nobody/there")


def _label(data_dir: Path, api_base: str) -> None:
    """People say that every step is useful."""
    with JudgeClient.embedded(data_dir=data_dir, api_base=api_base) as client:
        verdicts = [each for page in client.all_verdicts() for each in page.verdicts]
        record = client.audit(verdicts[0].verdict_id).record
        client.label(
            [
                Label(
                    state_digest=each.state_digest,
                    step_digest=each.step_digest,
                    task_digest=each.state_digest,
                    step=each.step,
                    rubric=each.rubric,
                    rubric_digest=record.rubric_digest,
                    criterion="useful",
                    call=1,
                    answer="yes",
                    annotator="ann",
                )
                for each in verdicts
            ]
        )
