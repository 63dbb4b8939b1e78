"""Suites and agents for tests: small suites on disk, the command that evaluates them, and an agent behind HTTP."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio

from stepjudge.bundle import Bundle
from stepjudge.client import AsyncJudgeClient
from stepjudge.suite_file import read_suite
from stepjudge.suite_run import Passes, Run, Stored, judged_by

MARKER = "zebra-quartz-5521"
"""Stands in references, and must stand nowhere that an agent or a judge can see."""

PROGRAM = "from stepjudge.cli.evaluate import evaluate; evaluate()"


def task(task_id: str = "pump", **fields: Any) -> dict[str, Any]:
    """A task whose check asks whether the final output is that of the reference."""
    return {
        "id": task_id,
        "inputs": {"instruction": f"Mend the {task_id}."},
        "reference": {"answer": "42"},
        "checks": [{"name": "right", "kind": "final-output", "reference": "$.answer"}],
        **fields,
    }


def write_suite(folder: Path, *tasks: dict[str, Any], **fields: Any) -> Path:
    """A suite as a folder; JSON is YAML too."""
    (folder / "tasks").mkdir(parents=True, exist_ok=True)
    (folder / "suite.yaml").write_text(json.dumps({"name": "small", "version": "1", **fields}), encoding="utf-8")
    for each in tasks:
        (folder / "tasks" / f"{each['id']}.yaml").write_text(json.dumps(each), encoding="utf-8")
    return folder


def chat(answer: str, *, tool: str = "look", instruction: str = "Mend the pump.") -> dict[str, Any]:
    """An OpenAI chat of two steps: a call, and the final answer."""
    call = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": '{"at": "motor"}'}}
    return {
        "messages": [
            {"role": "user", "content": instruction},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "the motor is loose"},
            {"role": "assistant", "content": answer},
        ]
    }


def write_trials(folder: Path, answers: Mapping[str, list[str]]) -> Path:
    """Trials as folders `TASK/N/`, by the answers of each task."""
    for task_id, each in answers.items():
        for number, answer in enumerate(each, start=1):
            place = folder / task_id / str(number)
            place.mkdir(parents=True)
            text = json.dumps(chat(answer, instruction=f"Mend the {task_id}."))
            (place / "trace.json").write_text(text, encoding="utf-8")
    return folder


class Evaluate:
    """The command over one data folder, without any setting of the machine."""

    def __init__(self, folder: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("STEPJUDGE_")}
        self.folder = folder
        self.environment = {**kept, "STEPJUDGE_DATA_DIR": str(folder / "data"), "COLUMNS": "160"}

    def __call__(self, *arguments: object, status: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.folder,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stdout + done.stderr

    def json(self, *arguments: object) -> dict[str, Any]:
        return json.loads(self(*arguments, "--json"))

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """The command, to be waited for or killed."""
        command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=self.environment, cwd=self.folder)


def evaluated(
    folder: Path,
    suite: Path,
    trials: Path | str | Passes,
    output: str,
    *,
    max_cost_usd: float | None = None,
    **judge: Any,
) -> Bundle:
    """The bundle of a run in this process, over one data folder. `judge` are settings of the embedded service."""

    async def run() -> Bundle:
        read = read_suite(suite)
        what = trials if isinstance(trials, Passes) else Stored((str(trials),))
        client = AsyncJudgeClient.embedded(data_dir=folder / "data", max_cost_usd=None, **judge)
        async with judged_by(client, read, max_cost_usd=max_cost_usd) as judging:
            return await Run(suite=read, folder=suite, trials=what, output=folder / output, judging=judging).run()

    return anyio.run(run)


class Agent:
    """An agent behind HTTP that remembers every request to the letter."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.received: list[str] = []

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(text.partition("\r\n\r\n")[2]) for text in self.received]


@contextmanager
def agent(answer: Callable[[Any], tuple[int, Any]]) -> Generator[Agent]:
    """Serves answers: a status, and a document (or bytes as they are)."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            serving.received.append(f"{self.requestline}\r\n{self.headers}".rstrip() + f"\r\n\r\n{body}")
            status, document = answer(json.loads(body))
            content = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.send_header("retry-after", "0")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Not on the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = Agent(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield serving
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
