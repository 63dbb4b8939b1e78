"""Labels over HTTP: kept for good, found by step, drawn for labelling, and what they make of a judge."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from judge_service.label_store import LabelStore
from judge_service.ledger import Ledger
from stepjudge.client import AsyncJudgeClient, JudgeClient
from stepjudge.errors import JudgeRefused
from stepjudge.label import Label, Sampling
from stepjudge.label_contract import KeptTrace
from stepjudge.trust import TrustRule

from judged import SMALL, judged
from labelling import label
from serving import serving


def questions(count: int) -> list[dict[str, Any]]:
    """Traces of one step each."""
    return [
        {"messages": [{"role": "user", "content": f"{number}?"}, {"role": "assistant", "content": f"{number}!"}]}
        for number in range(count)
    ]


def of(kept: KeptTrace, step: int, **fields: Any) -> Label:
    there = kept.steps[step - 1]
    return Label.model_validate(
        {
            "state_digest": there.state_digest,
            "step_digest": there.step_digest,
            "task_digest": kept.task_digest,
            "trace_id": kept.trace_id[:1_000],
            "step": step,
            "rubric": f"{kept.rubric.name}@{kept.rubric.version}",
            "rubric_digest": kept.rubric.digest,
            "criterion": "valid",
            "answer": "yes",
            "annotator": "ann",
            "blind": True,
            **fields,
        }
    )


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("data")) as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[JudgeClient]:
    with JudgeClient(url) as client:
        yield client


def test_a_label_is_stored_with_an_id_and_a_time_and_found_again(client: JudgeClient) -> None:
    kept = client.keep(SMALL)
    [stored] = client.label([of(kept, 2, annotator="finder", note="⟨ü⟩")]).labels
    assert stored.label_id
    assert stored.created_at.endswith("Z")
    for which in (
        {"annotator": "finder"},
        {"rubric": "step", "annotator": "finder"},
        {"criterion": "valid", "annotator": "finder"},
        {"step_digest": kept.steps[1].step_digest, "annotator": "finder"},
        {"state_digest": kept.steps[1].state_digest, "annotator": "finder"},
    ):
        assert client.labels(**which).labels == (stored,), which  # pyright: ignore[reportArgumentType]
    assert client.labels(annotator="finder", criterion="useful").labels == ()


def test_labels_survive_a_second_run_of_the_same_steps_under_other_ids(client: JudgeClient) -> None:
    renamed = {**SMALL, "messages": [dict(message) for message in SMALL["messages"]]}
    renamed["messages"][1]["tool_calls"] = [{**SMALL["messages"][1]["tool_calls"][0], "id": "another"}]
    renamed["messages"][2]["tool_call_id"] = "another"
    first, again = client.keep(SMALL), client.keep(renamed)
    assert [(each.state_digest, each.step_digest) for each in first.steps] == [
        (each.state_digest, each.step_digest) for each in again.steps
    ]
    card = client.score(SMALL)
    there = client.verdicts_of(first.steps[1].state_digest, first.steps[1].step_digest)
    assert [each.verdict_id for each in there.verdicts] == [card.steps[1].verdict_id]


def test_the_state_of_a_label_can_be_read_and_ends_with_its_step(client: JudgeClient) -> None:
    kept = client.keep(SMALL)
    trace = client.state(kept.steps[1].state_digest, kept.steps[1].step_digest)
    assert [len(trace.steps), trace.steps[1].calls[0].arguments] == [2, {"city": "Cusco"}]
    with pytest.raises(JudgeRefused, match="no step") as refused:
        client.state(kept.steps[1].state_digest, "sha256:none")
    assert refused.value.problem.status == 404


def test_labels_are_paged_newest_first_and_none_twice(client: JudgeClient) -> None:
    kept = client.keep(SMALL)
    client.label([of(kept, 1, annotator="pager", note=str(number)) for number in range(7)])
    seen: list[str] = []
    cursor = None
    while True:
        page = client.labels(annotator="pager", limit=3, cursor=cursor)
        seen += [each.note for each in page.labels]
        if (cursor := page.next_cursor) is None:
            break
    assert seen == [str(number) for number in reversed(range(7))]
    assert [each.note for each in client.all_labels(annotator="pager")] == seen[::-1]


def test_storing_the_same_again_changes_nothing_and_other_content_under_an_id_is_a_conflict(
    client: JudgeClient,
) -> None:
    [stored] = client.label([of(client.keep(SMALL), 1, annotator="twice")]).labels
    assert client.label([stored]).known == 1
    assert len(client.all_labels(annotator="twice")) == 1
    with pytest.raises(JudgeRefused) as refused:
        client.label([stored.model_copy(update={"answer": "no"})])
    assert refused.value.problem.status == 409


def test_of_several_labels_all_are_stored_or_none(client: JudgeClient) -> None:
    kept = client.keep(SMALL)
    good = of(kept, 1, annotator="whole", label_id="whole-1")
    bad = of(kept, 1, annotator="whole", supersedes="nothing")
    with pytest.raises(JudgeRefused, match="there is no label 'nothing'"):
        client.label([good, bad])
    assert client.all_labels(annotator="whole") == ()
    # one may name another of the same request
    assert client.label([good, of(kept, 1, annotator="whole", answer="no", supersedes="whole-1")]).known == 0


def test_a_label_from_the_future_is_refused(client: JudgeClient) -> None:
    kept = client.keep(SMALL)
    soon, ahead = (
        (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat(timespec="seconds").replace("+00:00", "Z")
        for minutes in (1, 30)
    )
    with pytest.raises(JudgeRefused, match="in the future") as refused:
        client.label([of(kept, 1, annotator="ahead", created_at=ahead)])
    assert refused.value.problem.status == 422
    assert client.label([of(kept, 1, annotator="soon", created_at=soon)]).known == 0, "clocks differ a little"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"state_digest": None}, "state_digest"),
        ({"score": 1}, "not both"),
        ({"annotator": "\u202e"}, "annotator"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_what_is_no_label_is_refused_with_its_place(url: str, fields: dict[str, Any], says: str) -> None:
    body = {"labels": [label("yes").model_dump(mode="json") | fields]}
    with httpx2.Client(base_url=url, timeout=60) as http:
        response = http.post("/v1/labels", json=body)
        assert http.post("/v1/labels", json={"labels": []}).status_code == 422
    assert (response.status_code, response.headers["content-type"]) == (422, "application/problem+json")
    assert says in response.json()["detail"]


def test_an_export_holds_every_record_in_either_form(client: JudgeClient, url: str) -> None:
    kept = client.keep(SMALL)
    [first] = client.label([of(kept, 1, annotator="exporter")]).labels
    client.label([of(kept, 1, annotator="exporter", answer="no", supersedes=first.label_id, note="=1")])
    with httpx2.Client(base_url=url, timeout=60) as http:
        lines = http.get("/v1/labels/export", params={"annotator": "exporter"})
        table = http.get("/v1/labels/export", params={"annotator": "exporter", "format": "csv"})
    assert [Label.model_validate_json(line).answer for line in lines.text.splitlines()] == ["yes", "no"]
    assert table.headers["content-type"].startswith("text/csv")
    assert "'=1" in table.text.splitlines()[2]


def test_a_key_reads_or_labels_only_as_its_scopes_say(tmp_path: Path) -> None:
    scopes = {"reader": ("read",), "labeller": ("label", "read"), "judge": ("judge",)}
    keys = {
        name: {"sha256": hashlib.sha256(name.encode()).hexdigest(), "scopes": mine} for name, mine in scopes.items()
    }
    with serving(tmp_path, api_keys=keys) as url, JudgeClient(url, api_key="labeller") as client:
        client.label([of(client.keep(SMALL), 1)])
        status: dict[tuple[str, str], int] = {}
        with httpx2.Client(base_url=url, timeout=60) as http:
            for name in (*scopes, "nobody"):
                headers = {"authorization": f"Bearer {name}"}
                for path in ("labels", "labels/export", "queue", "agreement", "states/a/b/verdicts"):
                    status[name, path] = http.get(f"/v1/{path}", headers=headers).status_code
                for path in ("labels", "states"):
                    status[name, f"POST {path}"] = http.post(f"/v1/{path}", json={}, headers=headers).status_code
    assert {code for (name, _), code in status.items() if name == "nobody"} == {401}
    assert {code for (name, _), code in status.items() if name == "judge"} == {403}
    assert (status["reader", "labels"], status["reader", "queue"], status["reader", "POST labels"]) == (200, 200, 403)
    assert (status["labeller", "POST labels"], status["labeller", "POST states"]) == (422, 422)


def answers(step: int, _unit: str, criterion: str) -> str:
    return "not_applicable" if criterion == "recovery" else "yes"


def test_a_queue_draws_from_what_was_judged_and_tells_the_chance(tmp_path: Path) -> None:
    with judged(tmp_path, answers=answers) as service, JudgeClient(service.url) as client:
        for trace in questions(8):
            client.score(trace)
        client.score(questions(1)[0], judge="rules")
        queue = client.queue(count=4, seed=1)
        again = client.queue(count=4, seed=1)
        differ = client.queue(design="disagreement")
    assert (queue.population, len(queue.steps), queue) == (8, 4, again)
    sampling = Sampling(design="uniform", probability=0.5, population=8, seed=1)
    assert [each.sampling for each in queue.steps] == [sampling] * 4
    assert differ.steps == (), "rules leave it undetermined, which differs from nothing"


def test_enough_labels_that_agree_take_provisional_off_the_scorecard(tmp_path: Path) -> None:
    """The rule is set to fewer labels, so that the test stays short."""
    trust = TrustRule(min_labels=12, min_rare=3, min_tasks=2)

    def script(step: int, unit: str, criterion: str) -> str:
        return answers(step, unit, criterion) if step == 1 or criterion != "useful" else "no"

    two = [
        {"messages": [*each["messages"], {"role": "user", "content": "And?"}, {"role": "assistant", "content": "No."}]}
        for each in questions(8)
    ]
    with judged(tmp_path, answers=script, trust=trust) as service, JudgeClient(service.url) as client:
        cards = [client.score(trace) for trace in two]
        assert cards[0].provisional
        assert cards[0].validation is not None
        assert "there are no labels" in cards[0].validation.because
        drawn = Sampling(design="uniform", probability=0.5, population=16)
        for number, trace in enumerate(two):
            kept = client.keep(trace)
            scores = [of(kept, step, criterion="score", answer=None, score=2 - step, sampling=drawn) for step in (1, 2)]
            client.label(scores)
            if number == 2:
                assert client.score(two[0]).provisional, "six labels are too few"
        card = client.score(two[0])
        rules = client.score(two[0], judge="rules")
        [report] = client.agreement(judge="openai/scripted").reports
    assert card.validation is not None
    assert (card.provisional, card.validation.labels, card.validation.word) == (False, 16, "trust it")
    assert rules.provisional, "another judge has answered none of them"
    assert report.validation == card.validation
    passes = report.labelled.reading("passes")
    assert passes is not None
    assert passes.agreement.kappa.value == 1.0
    assert [floor.name for floor in report.labelled.floors] == ["always +1", "step index alone"]


async def test_the_asynchronous_client_labels_too(url: str) -> None:
    async with AsyncJudgeClient(url) as client:
        kept = await client.keep(SMALL, rubric="step-ternary")
        [stored] = (await client.label([of(kept, 1, annotator="async", criterion="sound")])).labels
        assert (await client.labels(annotator="async")).labels == (stored,)
        assert (await client.queue(rubric="step-ternary")).population == 0
        with pytest.raises(JudgeRefused, match="no verdict by 'step-ternary'"):
            await client.agreement("step-ternary")


async def test_labels_are_kept_by_either_database(ledger_url: str) -> None:
    ledger = Ledger.open(ledger_url)
    store = LabelStore(ledger.engine)
    first = label("yes", note="ü")
    await store.add([first, label(1, step=2)])
    second = label("no", label_id="second", supersedes=first.label_id)
    stored, known = await store.add([first, second])
    assert (stored, known) == ((first, second), 1)
    assert [each.said for each in store.of_rubric("small")] == ["yes", 1, "no"]
    assert store.newest() == 3
    with ledger.engine.connect() as connection:
        names = connection.execute(sa.text("select annotator from labels order by sequence")).scalars().all()
    assert names == ["ann"] * 3
    ledger.dispose()
