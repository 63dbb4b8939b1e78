"""Review: every key, labels that end in the ledger, undo, and nothing of a judge before an answer is in."""

from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from playwright.sync_api import expect

from stepjudge.client import JudgeClient
from stepjudge.label import Label, standing

from judged import SMALL, judged
from pages.opened import Browsing, Opened
from pages.signed_in import key, sign_in

REASON = "secret-reason-of-the-judge"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    def answers(step: int, _unit: str, criterion: str) -> dict[str, object]:
        if criterion == "recovery":
            return {"answer": "not_applicable", "reason": REASON}
        said = "no" if (step, criterion) == (2, "useful") else "yes"
        return {"answer": said, "reason": REASON}

    with judged(tmp_path_factory.mktemp("review"), answers=answers) as service, JudgeClient(service.url) as client:
        client.score(SMALL)
        client.score(SMALL, judge="rules")
        yield service.url


def begin(browser: Browsing, url: str, name: str, *, query: str = "", width: int = 1280) -> Opened:
    opened = browser.open(url, f"/audit/review{query}", width=width)
    opened.page.set_default_timeout(60_000)
    opened.page.fill("#annotator", name)
    opened.page.click("main button[type=submit]")
    opened.page.wait_for_selector("[data-question], [data-end], [data-revealed]")
    return opened


def answer(opened: Opened, *keys: str) -> None:
    for each in keys:
        with opened.page.expect_navigation():
            opened.press(each)


def finish(opened: Opened, said: str = "y") -> None:
    """Answer all that is still open about the step at hand."""
    while opened.page.locator("[data-question]").count():
        answer(opened, said)


def records(url: str, name: str) -> list[Label]:
    with JudgeClient(url) as client:
        return list(reversed(client.labels(annotator=name, limit=500).labels))


def test_each_key_records_its_word_and_moves_on_to_the_next_question(browser: Browsing, url: str) -> None:
    opened = begin(browser, url, "keys")
    asked = opened.page.locator("[data-question]")
    words = {"y": "yes", "n": "no", "a": "not_applicable", "u": "undetermined"}
    seen: list[tuple[str | None, str]] = []
    while len(seen) < 9:
        if not asked.count():
            answer(opened, "Enter")
            continue
        offered = [each.get_attribute("data-key") or "" for each in opened.page.locator(".answer-key").all()]
        new = [each for each in offered if words[each] not in {word for _, word in seen}]
        wanted = (new or offered)[-1]
        seen.append((asked.get_attribute("data-question"), words[wanted]))
        answer(opened, wanted)
    assert [(each.criterion, each.answer) for each in records(url, "keys")] == seen
    assert {word for _, word in seen} == set(words.values()), "every key was pressed"
    assert all(each.blind and each.created_at for each in records(url, "keys"))
    assert {each.sampling.design for each in records(url, "keys")} == {"uniform"}
    assert opened.troubles() == []


def test_nothing_of_a_judge_is_in_the_page_before_every_answer_is_in(browser: Browsing, url: str) -> None:
    opened = begin(browser, url, "blind")
    steps = opened.page.locator("[data-question]")
    while steps.count():
        for trace in (opened.page.content(), httpx.get(opened.page.url, cookies=_cookies(opened), timeout=60).text):
            assert "data-question" in trace
            assert REASON not in trace
            assert "openai/scripted" not in trace
        answer(opened, "y")
    assert opened.page.locator("[data-revealed]").count() == 1
    assert REASON in opened.page.content()
    assert "openai/scripted" in opened.page.content()


def test_undo_is_a_further_record_and_the_answer_after_it_is_blind_only_while_judges_were_not_shown(
    browser: Browsing, url: str
) -> None:
    opened = begin(browser, url, "undoer")
    first = opened.page.locator("[data-question]").get_attribute("data-question")
    answer(opened, "y", "x")
    assert opened.page.locator("[data-question]").get_attribute("data-question") == first
    said, taken_back = records(url, "undoer")
    assert (said.answer, taken_back.answer, taken_back.supersedes) == ("yes", None, said.label_id)
    answer(opened, "n")
    assert records(url, "undoer")[-1].blind, "nothing of a judge was shown yet"
    finish(opened)
    answer(opened, "x")
    expect(opened.page.locator("[data-not-blind]")).to_be_visible()
    answer(opened, "u")
    every = records(url, "undoer")
    assert (every[-1].answer, every[-1].blind) == ("undetermined", False)
    assert len({each.label_id for each in every}) == len(every), "nothing was edited away"
    assert [each.answer for each in standing(every) if each.criterion == first and each.state_digest == said.state_digest][:1] == ["no"]  # fmt: skip


def test_skipped_steps_come_back_at_the_end_and_progress_and_agreement_count(browser: Browsing, url: str) -> None:
    opened = begin(browser, url, "skipper")
    answer(opened, "s")
    for _ in range(2):
        finish(opened)
        answer(opened, "Enter")
    expect(opened.page.locator("[data-end]")).to_contain_text("1 step is still open")
    expect(opened.page.locator("[data-progress]")).to_contain_text("2 of 3 steps done")
    with JudgeClient(url) as client:
        mine = {each.question: each.answer for each in records(url, "skipper")}
        both = equal = 0
        for state, step in {each[:2] for each in mine}:
            (judge,) = [each for each in client.verdicts_of(state, step).verdicts if each.judge != "rules"]
            for each in judge.answers:
                said = next((a for q, a in mine.items() if q[:2] == (state, step) and q[3:] == (each.criterion, each.call)), None)  # fmt: skip
                if said is not None and each.answer != "undetermined":
                    both, equal = both + 1, equal + (said == each.answer)
    row = opened.page.locator("[data-so-far] dl div", has_text="openai/scripted")
    expect(row).to_contain_text(f"{equal} of {both} equal")
    answer(opened, "Enter")
    finish(opened)
    answer(opened, "Enter")
    expect(opened.page.locator("[data-end] h1")).to_have_text("All steps are done")


def test_a_walk_is_a_deep_link_that_stays_the_same_when_more_is_judged(browser: Browsing, url: str) -> None:
    opened = begin(browser, url, "linker", query="?count=2")
    before = opened.page.url
    shown = opened.page.locator(".step-in-question").inner_text()
    other = {"messages": [{"role": "user", "content": "And now?"}, {"role": "assistant", "content": "Now."}]}
    with JudgeClient(url) as client:
        client.score(other)
    opened.go(before.removeprefix(url))
    assert opened.page.locator(".step-in-question").inner_text() == shown
    assert "until=" in before


def test_other_queues_hold_steps_on_which_judges_differ_or_say_why_there_are_none(browser: Browsing, url: str) -> None:
    opened = begin(browser, url, "picker", query="?design=low_confidence&judge=rules")
    expect(opened.page.locator("[data-end]")).to_contain_text("Draw steps at random instead")
    assert opened.faults() == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_pages_fit_and_axe_finds_no_fault(browser: Browsing, url: str, width: int, scheme: str) -> None:
    context = browser.window(width=width, scheme="dark" if scheme == "dark" else "light")
    opened = browser.open(url, "/audit/review", context=context)
    found = [(opened.faults(), opened.overflow())]
    opened.page.fill("#annotator", f"fit-{width}")
    opened.page.click("main button[type=submit]")
    opened.page.wait_for_selector("[data-question]")
    found.append((opened.faults(), opened.overflow()))
    finish(opened)
    found.append((opened.faults(), opened.overflow()))
    assert found == [([], 0)] * 3
    assert opened.troubles() == []


def test_a_persons_own_answer_to_a_verdict_is_a_label_with_name_and_time(browser: Browsing, url: str) -> None:
    with JudgeClient(url) as client:
        verdict = next(each for each in client.verdicts(limit=50).verdicts if each.judge != "rules" and each.step == 2)
    opened = begin(browser, url, "overrider")
    fields = {
        "form_token": opened.page.locator("[name=form_token]").first.input_value(),
        "verdict_id": verdict.verdict_id,
        "criterion": "useful",
        "call": "1",
        "said": "yes",
        "note": "it was needed <script>",
        "next": "/audit/review",
    }
    for word in ("yes", "no"):
        sent = httpx.post(f"{url}/audit/review/override", data={**fields, "said": word}, cookies=_cookies(opened), timeout=60)  # fmt: skip
        assert (sent.status_code, sent.headers["location"]) == (303, "/audit/review")
    first, second = records(url, "overrider")
    assert (first.answer, first.blind, first.sampling.design, first.note) == ("yes", False, "chosen", "it was needed <script>")  # fmt: skip
    assert (second.answer, second.supersedes) == ("no", first.label_id)
    assert (first.state_digest, first.step_digest) == (verdict.state_digest, verdict.step_digest)
    for wrong in ({"said": "maybe"}, {"criterion": "nope"}, {"verdict_id": "none"}, {"form_token": "forged"}):
        sent = httpx.post(f"{url}/audit/review/override", data=fields | wrong, cookies=_cookies(opened), timeout=60)
        assert sent.status_code in (403, 404, 422), wrong
    elsewhere = httpx.post(f"{url}/audit/review/override", data={**fields, "next": "https://evil.example/"}, cookies=_cookies(opened), timeout=60)  # fmt: skip
    assert elsewhere.headers["location"] == "/audit/traces"


def test_the_holder_of_a_key_signs_and_a_key_that_only_reads_records_nothing(browser: Browsing, tmp_path: Path) -> None:
    keys = {"ann": key("a", "read", "label", "judge"), "eve": key("e", "read")}
    with judged(tmp_path, api_keys=keys) as service, JudgeClient(service.url, api_key="a") as client:
        client.score(SMALL)
        opened = browser.open(service.url, "/audit/review")
        opened.page.set_default_timeout(60_000)
        sign_in(opened, "a")
        opened.page.click("main .plan button[type=submit]")
        opened.page.wait_for_selector("[data-question]")
        walk = opened.page.url
        answer(opened, "n")
        assert [(each.annotator, each.answer) for each in client.labels().labels] == [("ann", "no")]
        other = browser.open(service.url, "/audit/review")
        sign_in(other, "e")
        expect(other.page.locator("[data-empty]")).to_contain_text("lacks the scope label")
        other.go(walk.removeprefix(service.url))
        expect(other.page.locator("[data-refusal]")).to_contain_text("lacks the scope 'label'")
        assert len(client.labels().labels) == 1


def test_what_a_hostile_trace_says_is_text(browser: Browsing, tmp_path: Path) -> None:
    evil = "<script>window.hacked=1</script><img src=x onerror=window.hacked=2>\u202eabc\x1b[2J\ud800"
    call = {"id": "a", "type": "function", "function": {"name": "<b onclick=hack()>", "arguments": '{"<i>": "<svg onload=window.hacked=3>"}'}}  # fmt: skip
    messages = [
        {"role": "user", "content": evil},
        {"role": "assistant", "content": evil, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": evil + "x" * 5_000_000 + "</pre><script>window.hacked=4</script>"},
    ]  # fmt: skip
    with judged(tmp_path) as service, JudgeClient(service.url) as client:
        client.score({"messages": messages}, judge="rules")
        opened = begin(browser, service.url, "ann")
        assert len(opened.page.content()) < 200_000
        text = opened.page.locator(".step-in-question").inner_text()
        assert "<script>window.hacked=1</script>" in text
        assert "⟨U+202E⟩abc⟨U+001B⟩[2J" in text
        assert opened.page.evaluate("window.hacked ?? null") is None
        assert (opened.troubles(), opened.overflow()) == ([], 0)
        whole = httpx.get(service.url + str(opened.page.locator(".left-out a").get_attribute("href")), timeout=60)
        assert len(whole.text) > 5_000_000
        assert whole.headers["content-type"].startswith("text/plain")


def _cookies(opened: Opened) -> dict[str, str]:
    return {str(each.get("name")): str(each.get("value")) for each in opened.page.context.cookies()}
