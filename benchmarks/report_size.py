"""How large a report is, how long it takes to write, and how soon a browser shows it: 200 trials of 50 steps.

    python benchmarks/report_size.py [--trials 200] [--steps 50] [--padding 1500]

Needs Chromium (Debian's `chromium`; another path in CHROMIUM). First render is the browser's own first contentful paint
of the file from the disk; then the time until the page answers, until a trial stands, and a first search of every step.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from report.made import MadeRun, made_run
from stepjudge.report import report

PASSES = 5
RUNS = 5


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def written(run: MadeRun, path: Path) -> dict[str, float]:
    summed_up = run.summary
    page: list[str] = []
    before = time.process_time()
    making = seconds(lambda: page.append(report(run.tasks, run.trials, run.scores, summed_up)))
    cpu = time.process_time() - before
    writing = seconds(lambda: path.write_text(page[0], encoding="utf-8"))
    return {"made": making, "cpu": cpu, "written": writing, "megabytes": path.stat().st_size / 1e6}


def opened(browser: Browser, path: Path, trial: str) -> dict[str, float]:
    """Milliseconds."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri(), wait_until="load")
    page.wait_for_timeout(300)  # the page's policy forbids the evaluation that waiting for a value takes
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    ready = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")

    def open_trial() -> None:
        page.evaluate("id => { location.hash = `#trial/${id}`; }", trial)
        page.wait_for_selector("#trial .step")

    def search() -> None:
        page.evaluate("location.hash = '#overview'")
        page.fill("#search", "line of a log")
        page.wait_for_selector("#found:not(:empty)")

    found = {
        "first paint": paint,
        "loaded": ready,
        "open a trial": 1000 * seconds(open_trial),
        "search all": 1000 * seconds(search),
    }
    page.close()
    return found  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Size and speed of a report.")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--padding", type=int, default=1500, help="characters added to every result")
    chosen = parser.parse_args()
    run = made_run(chosen.trials // PASSES, PASSES, chosen.steps, padding=chosen.padding)
    steps = sum(score.steps or 0 for score in run.scores)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        made = written(run, path)
        print(f"{len(run.scores)} trials, {steps} steps: {made['megabytes']:.1f} MB")
        print(f"made in {made['made']:.2f} s ({made['cpu']:.2f} s of CPU), written in {made['written']:.2f} s")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
                args=[
                    "--no-sandbox",
                    "--disable-background-networking",
                    "--disable-component-update",
                    "--no-first-run",
                ],
            )
            times = [opened(browser, path, run.scores[-1].trial_id) for _ in range(RUNS)]
            browser.close()
    print(f"in Chromium, median of {RUNS}:")
    for name in times[0]:
        each = [time[name] for time in times]
        print(f"  {name:<12} {statistics.median(each):6.0f} ms  ({min(each):.0f} to {max(each):.0f})")


if __name__ == "__main__":
    main()
