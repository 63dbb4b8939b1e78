"""What every page holds to: no fault that axe finds, no scrolling sideways, a policy without inline code."""

import httpx2 as httpx
import pytest

from judged import Judged
from pages.opened import Browsing

PAGES = ("/audit/traces", "/audit/traces?q=nobodysaysthis", "STEP", "SIDES", "AUDIT", "/audit/rubrics", "/audit/rubrics/step@1.0.0", "/audit/rubrics/step@1.0.0/to/step-ternary@1.0.0", "/audit/nowhere")  # fmt: skip


def path_of(name: str, url: str) -> str:
    """The addresses of pages that hold digests are found on the list."""
    if name.startswith("/"):
        return name
    with httpx.Client(base_url=url) as client:
        verdicts = client.get("/v1/verdicts").json()["verdicts"]
        mine = next(each for each in verdicts if each["judge"] != "rules" and each["step"] == 2)
        if name == "AUDIT":
            return f"/audit/verdicts/{mine['verdict_id']}/audit"
        step = client.get(f"/audit/verdicts/{mine['verdict_id']}").headers["location"]
        if name == "STEP":
            return step
        other = next(each for each in verdicts if each["judge"] == "rules")
        digest = next(each["digest"] for each in client.get("/v1/rubrics").json() if each["name"] == "step")[7:19]
        return f"{step.partition('?')[0]}?by={digest}.{mine['judge_digest'][7:19]}&beside={digest}.{other['judge_digest'][7:19]}"


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_fault_and_nothing_scrolls_sideways(browser: Browsing, room: Judged, name: str) -> None:
    opened = browser.open(room.url, path_of(name, room.url))
    found: dict[str, object] = {}
    for width in (1280, 390):
        for scheme in ("light", "dark"):
            opened.page.set_viewport_size({"width": width, "height": 900})
            opened.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            found[f"{scheme} {width}"] = (opened.faults(), opened.overflow())
    assert found == {each: ([], 0) for each in found}


def test_the_policy_admits_no_inline_code_and_no_frame(room: Judged) -> None:
    answer = httpx.get(f"{room.url}/audit/traces")
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy.split("; "))  # fmt: skip
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


def test_assets_are_found_by_their_content_alone(room: Judged) -> None:
    assert httpx.get(f"{room.url}/audit/static/0000000000000000/page.js").status_code == 404
    assert httpx.get(f"{room.url}/audit/static/0000000000000000/..%2Fframe.py").status_code == 404
