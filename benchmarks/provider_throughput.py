"""How many requests a second the fake model API answers, beside the most that one Python thread can.

The bound is a server that answers every request with the same ready bytes and reads nothing but its length.
The client is a bare socket client in a process of its own; both servers see the same client and the same prompts.

    python benchmarks/provider_throughput.py [--seconds 3] [--concurrency 64] [--prompt-bytes 12000]
"""

import argparse
import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import orjson

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fakes.provider import Provider, Request
from fakes.wire import answer

VERDICT = {"valid": "yes", "relevant": "yes", "useful": "no", "reason": "It repeats an earlier view of the file."}
COMMON = "The step reads a file that it had read before. "


def verdict(_: Request) -> dict[str, str]:
    return VERDICT


class Caller(asyncio.Protocol):
    """A keep-alive client that asks again as soon as it was answered."""

    def __init__(self, requests: list[bytes], deadline: float, done: asyncio.Event) -> None:
        self._requests, self._deadline, self._done = requests, deadline, done
        self._buffer = bytearray()
        self._expected = 0
        self.answered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._expected:
            head, _, _ = bytes(self._buffer).partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(head.decode("latin-1"))
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            self._expected = len(head) + 4 + length
        if len(self._buffer) >= self._expected:
            self._buffer.clear()
            self._expected = 0
            self.answered += 1
            self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        self._done.set()

    def _ask(self) -> None:
        if time.monotonic() > self._deadline:
            self._transport.close()
        else:
            self._transport.write(self._requests[self.answered % len(self._requests)])


def prompts(size: int, worker: int) -> list[bytes]:
    """Of one worker: like the steps of a trace, each the one before it and a little more."""
    requests: list[bytes] = []
    for step in range(8):
        text = (f"Trace {worker}. " + COMMON * (size // len(COMMON)))[: size * (step + 1) // 8]
        body = orjson.dumps(
            {
                "model": "fake",
                "temperature": 0,
                "messages": [{"role": "system", "content": "You are a judge."}, {"role": "user", "content": text}],
            }
        )
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: fake\r\ncontent-length: {len(body)}\r\n\r\n"
        requests.append(head.encode() + body)
    return requests


async def hammer(port: int, seconds: float, concurrency: int, size: int) -> float:
    """Requests a second."""
    deadline = time.monotonic() + seconds
    ends = [asyncio.Event() for _ in range(concurrency)]
    callers = [Caller(prompts(size, worker), deadline, end) for worker, end in enumerate(ends)]
    for caller in callers:
        await asyncio.get_running_loop().create_connection(lambda caller=caller: caller, "127.0.0.1", port)
    for end in ends:
        await end.wait()
    return sum(caller.answered for caller in callers) / seconds


class Ready(asyncio.Protocol):
    """The bound: the same bytes for everyone."""

    RESPONSE = answer(200, orjson.dumps(VERDICT), {})

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._buffer = bytearray()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, gap, body = self._buffer.partition(b"\r\n\r\n")
        if gap and len(body) >= int(head.partition(b"content-length: ")[2]):
            self._buffer.clear()
            self._transport.write(self.RESPONSE)


@contextmanager
def bound() -> Generator[int]:
    stop, port = asyncio.Event(), Future[int]()

    async def serve() -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        loops.append(loop)
        server = await loop.create_server(Ready, "127.0.0.1", 0, backlog=4096)
        port.set_result(server.sockets[0].getsockname()[1])
        await stop.wait()
        server.close()
        return loop

    loops: list[asyncio.AbstractEventLoop] = []
    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    try:
        yield port.result()
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join()


def measured(port: int, options: argparse.Namespace) -> tuple[float, float]:
    """Requests a second, and requests a second of this process's own CPU time."""
    before = time.process_time()
    command = [sys.executable, __file__, "--client", str(port)]
    command += ["--seconds", str(options.seconds), "--concurrency", str(options.concurrency)]
    command += ["--prompt-bytes", str(options.prompt_bytes)]
    rate = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return rate, rate * options.seconds / (time.process_time() - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--prompt-bytes", type=int, default=12_000, help="of the longest of eight growing prompts")
    parser.add_argument("--client", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        print(asyncio.run(hammer(options.client, options.seconds, options.concurrency, options.prompt_bytes)))
        return
    with bound() as port:
        most, most_per_cpu = measured(port, options)
    with Provider(verdict, record=False) as provider:
        rate, per_cpu = measured(urlsplit(provider.base_url).port or 0, options)
        usage = provider.usage
    print(
        f"concurrency {options.concurrency}, prompts up to {options.prompt_bytes:,} bytes, {options.seconds:g} s each"
    )
    print(f"bound     {most:8,.0f} requests/s   {most_per_cpu:8,.0f} per CPU second")
    print(
        f"provider  {rate:8,.0f} requests/s   {per_cpu:8,.0f} per CPU second   peak {provider.in_flight_peak} in flight"
    )
    print(f"ratio     {rate / most:8.2f}              {per_cpu / most_per_cpu:8.2f}")
    print(f"cached    {usage.cached_tokens / usage.prompt_tokens:8.1%} of {usage.prompt_tokens:,} prompt tokens")


if __name__ == "__main__":
    main()
