"""Review, on which one key records a label and moves on: `/audit/review`."""

from typing import Annotated, Any, Literal, cast

import anyio
from fastapi import Depends, Query, Request
from fastapi.responses import RedirectResponse, Response

from judge_service.api.state import JudgedDep, LabelsDep, LedgerDep, ReviewsDep, TalliesDep
from judge_service.errors import RefusedLabel, UnknownStep
from judge_service.pages import words
from judge_service.pages.annotator import annotator, may_label, remember
from judge_service.pages.assets import PREFIX
from judge_service.pages.frame import HEADERS, page, page_router, plain_text
from judge_service.pages.passage import texts
from judge_service.pages.reviewed import answered, rows
from judge_service.pages.shown_step import opening, shown
from judge_service.pages.visitor import FormDep, ReaderDep
from judge_service.review import MOST_STEPS, WORDS, Plan, Reviews, Sitting, Walk, override
from judge_service.state import restored
from judge_service.tally import Tally, judges_of
from stepjudge.label_sampling import Queued
from stepjudge.rubric import Criterion

router = page_router("/review")

_MOST_SHOWN_BEFORE = 10
"""Earlier steps on the page; the others are a click away."""

_Text = Annotated[str, Query(max_length=200)]
_Place = Annotated[int | None, Query(ge=1, le=MOST_STEPS)]


class Wanted:
    """The query of a walk: its plan, as far as it is decided."""

    def __init__(
        self,
        rubric: _Text = "",
        judge: _Text = "",
        design: Queued = "uniform",
        count: Annotated[int, Query(ge=1, le=MOST_STEPS)] = 50,
        seed: Annotated[int, Query(ge=0, le=2**53)] = 0,
        until: Annotated[int | None, Query(ge=0, le=2**62)] = None,
        reveal: Literal["yes", "no"] = "yes",
    ) -> None:
        self.rubric, self.judge, self.design, self.count, self.seed = rubric, judge, design, count, seed
        self.until, self.reveal = until, reveal

    def plan(self, until: int) -> Plan:
        return Plan(
            rubric=self.rubric,
            judge=self.judge or None,
            design=cast("Queued", self.design),
            count=self.count,
            seed=self.seed,
            until=until,
        )

    def query(self, **more: object) -> str:
        """As a query again."""
        mine = vars(self) | {"reveal": "no" if self.reveal == "no" else ""}
        return words.query(mine, **more)


WantedDep = Annotated[Wanted, Depends(Wanted)]


@router.get("")
async def start(request: Request, who: ReaderDep, wanted: WantedDep, tallies: TalliesDep) -> Response:
    """Which queue to walk through."""
    found = await anyio.to_thread.run_sync(tallies.all)
    rubrics = {each.rubric_digest: each.rubric for each in found}
    return page(
        request,
        "review.html.jinja",
        who,
        tab="review",
        wanted=wanted,
        rubrics=sorted(rubrics.items(), key=lambda each: each[1]),
        chosen=_chosen(found, wanted.rubric),
        judges=judges_of(found),
        name=annotator(request, who),
        most=MOST_STEPS,
    )


@router.get("/walk")
async def walk(
    request: Request,
    who: ReaderDep,
    wanted: WantedDep,
    reviews: ReviewsDep,
    at: _Place = None,
    name: Annotated[str, Query(alias="annotator", max_length=200)] = "",
    earlier: Literal["all", ""] = "",
) -> Response:
    """The question at hand; or, of a step that is answered, what judges said of it."""
    may_label(who)
    signed = annotator(request, who, name)
    if not signed or not wanted.rubric:
        return _to(request, f"{words.query(vars(wanted))}")
    if wanted.until is None or name:
        wanted.until = wanted.until if wanted.until is not None else await reviews.newest()
        answer = _to(request, f"/walk{wanted.query(at=at)}")
        remember(request, answer, who, signed)
        return answer
    found = await reviews.walk(wanted.plan(wanted.until), signed)
    sitting = found.at(at)
    shared: dict[str, Any] = {
        "wanted": wanted,
        "walk": found,
        "so_far": await reviews.so_far(found),
        "last": found.last,
    }
    if sitting is None:
        left = [each for each in found.sittings if found.open(each)]
        return page(request, "review_end.html.jinja", who, tab="review", left=left, **shared)
    onward = found.next(sitting.place)
    shared |= {"sitting": sitting, "onward": onward.place if onward else MOST_STEPS}
    trace = await reviews.trace(sitting)
    before = trace.steps[:-1] if earlier else trace.steps[:-1][-_MOST_SHOWN_BEFORE:]
    shared |= {
        "opening": opening(trace),
        "before": [shown(step, whole=False) for step in before],
        "not_shown": len(trace.steps) - 1 - len(before),
        "step": shown(trace.steps[-1], whole=True),
        "calls": {number: call.name for number, call in enumerate(trace.steps[-1].calls, start=1)},
    }
    asked = found.open(sitting)
    if asked is None:
        judged = await reviews.said_by_judges(sitting, found.rubric)
        compared = rows(found, sitting, judged)
        return page(request, "review_answered.html.jinja", who, tab="review", judged=judged, rows=compared, **shared)
    return page(request, "review_walk.html.jinja", who, tab="review", **shared, **_question(found, sitting, asked))


@router.post("/walk")
async def record(request: Request, who: ReaderDep, wanted: WantedDep, fields: FormDep, reviews: ReviewsDep) -> Response:
    """Record an answer, or take the last one back."""
    may_label(who)
    signed = annotator(request, who)
    if not signed or wanted.until is None:
        return _to(request, words.query(vars(wanted)))
    found = await reviews.walk(wanted.plan(wanted.until), signed)
    if "take_back" in fields:
        sitting = await reviews.take_back(found, fields["take_back"])
        return _to(request, f"/walk{wanted.query(at=sitting.place if sitting else None)}")
    sitting, asked = _asked(found, fields)
    await reviews.answer(found, sitting, asked, WORDS[fields["said"]], fields.get("note", "").strip()[:4_000])
    return _to(request, f"/walk{wanted.query(at=await _place_after(reviews, found, sitting, wanted))}")


@router.get("/text")
async def text(
    who: ReaderDep, ledger: LedgerDep, state: _Text, step: _Text, place: Annotated[str, Query(max_length=100)]
) -> Response:
    """A text of the trace, whole."""
    stored = await ledger.chain(state, step)
    if stored is None:
        raise UnknownStep(f"no step {step[:80]!r} at state {state[:80]!r} in this ledger")
    trace = await anyio.to_thread.run_sync(restored, *stored)
    found = texts(trace).get(place)
    if found is None:
        raise UnknownStep(f"there is no text at {place!r}")
    return plain_text(found, "text.txt")


@router.post("/override")
async def override_answer(
    request: Request, who: ReaderDep, fields: FormDep, ledger: LedgerDep, judged: JudgedDep, labels: LabelsDep
) -> Response:
    """A person's own answer beside the judge's, in view of it."""
    may_label(who)
    signed = annotator(request, who, fields.get("annotator", ""))
    if not signed:
        raise RefusedLabel("say who you are: a label has a name")
    if fields.get("said") not in WORDS.values():
        raise RefusedLabel(f"no answer {fields.get('said', '')[:40]!r}")
    call = fields.get("call", "")
    await override(
        ledger,
        judged,
        labels,
        signed,
        verdict_id=fields.get("verdict_id", ""),
        criterion=fields.get("criterion", ""),
        call=int(call) if call.isascii() and call.isdigit() and len(call) < 10 else None,
        said=cast("Literal['yes', 'no', 'not_applicable', 'undetermined']", fields["said"]),  # one of them
        note=fields.get("note", "").strip()[:4_000],
    )
    answer = RedirectResponse(_back(request, fields.get("next", "")), 303, headers=HEADERS)
    remember(request, answer, who, signed)
    return answer


async def _place_after(reviews: Reviews, before: Walk, sitting: Sitting, wanted: Wanted) -> int | None:
    """Where to go after an answer: the same step, or the next one where nothing is shown after a step."""
    now = await reviews.walk(before.plan, before.annotator)
    if now.open(sitting) or wanted.reveal == "yes":
        return sitting.place
    onward = now.next(sitting.place)
    return onward.place if onward else MOST_STEPS


def _asked(walk: Walk, fields: dict[str, str]) -> tuple[Sitting, tuple[str, int | None]]:
    """The question that a form answers. Raises UnknownStep, RefusedLabel."""
    key = fields.get("state", ""), fields.get("step", "")
    sitting = next((each for each in walk.sittings if each.key == key), None)
    if sitting is None:
        raise UnknownStep("the step of this form is not in the queue")
    wanted = fields.get("criterion", ""), fields.get("call", "")
    asked = next((each for each in sitting.asked if (each[0], str(each[1] or "")) == wanted), None)
    if asked is None or fields.get("said") not in keys(walk.rubric.criterion(asked[0])):
        raise RefusedLabel(f"the rubric does not ask {wanted[0][:100]!r} of this step, or has no such answer")
    return sitting, asked


def keys(criterion: Criterion) -> tuple[str, ...]:
    """The keys that answer a criterion."""
    return tuple(key for key in WORDS if key != "a" or criterion.not_applicable_when)


def _question(walk: Walk, sitting: Sitting, asked: tuple[str, int | None]) -> dict[str, Any]:
    criterion = walk.rubric.criterion(asked[0])
    return {
        "criterion": criterion,
        "call": asked[1],
        "answered": answered(walk, sitting),
        "keys": [(key, WORDS[key]) for key in keys(criterion)],
        "number": sitting.asked.index(asked) + 1,
        "blind": not walk.seen(sitting),
    }


def _chosen(found: tuple[Tally, ...], wanted: str) -> str:
    """The rubric to begin with: by digest, reference or name; else the one with most verdicts."""
    matching = [each for each in found if wanted in (each.rubric_digest, each.rubric, each.rubric_name)]
    return next((each.rubric_digest for each in [*matching, *found]), "")


def _to(request: Request, rest: str) -> RedirectResponse:
    return RedirectResponse(f"{_base(request)}/review{rest}", 303, headers=HEADERS)


def _back(request: Request, next: str) -> str:
    """Where the form stood: a page of the audit room, and nothing else."""
    base = f"{_base(request)}/"
    plain = next.startswith(base) and not set(next) & set("\\\r\n\t") and "//" not in next.partition("?")[0]
    return next if plain else f"{base}traces"


def _base(request: Request) -> str:
    return f"{request.scope.get('root_path', '')}{PREFIX}"
