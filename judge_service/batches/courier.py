"""The courier carries open questions to providers and brings their replies back. Nothing is sent twice.

What is about to be sent is on the disk before a provider hears of it, under a name that the provider keeps with the
batch: whoever finds a batch `sending` was killed there, and asks the provider by that name what became of it.
"""

import json
import os
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio

from judge_service import provider_error
from judge_service.batches.office import ENDPOINT, Office, named, office
from judge_service.batches.pile import Pile, Sent
from judge_service.direct_line import Wire
from judge_service.errors import BatchFailed
from judge_service.model_settings import ModelSettings
from judge_service.secret import secrets
from judge_service.stores.locks import KeyLocks
from stepjudge.value import JsonObject

T = TypeVar("T")

MOST_BYTES = 90_000_000
"""Providers take 200 MB; what is uploaded is held in memory for a moment."""

ENDED = frozenset(("completed", "expired", "cancelled", "failed"))
_LEEWAY_S = 600.0
"""How far the clock of a provider may be behind ours."""


class Courier:
    """One at a time for each pile, whichever process it is in."""

    def __init__(self, pile: Pile, lock: Path, model: Callable[[str], ModelSettings], *, most: int) -> None:
        """`model` gives the settings of a judge by its name; `most` is how many questions a batch may have."""
        self._pile = pile
        self._lock = lock
        self._model = model
        self._most = most
        self._wire = Wire()
        self._here = anyio.Lock()

    async def aclose(self) -> None:
        await self._wire.aclose()

    async def send(self) -> None:
        """Send every open question. Raises BatchFailed; what was not sent stays open."""
        async with _Alone(self._here, self._lock):
            await self._recover()
            for judge in await anyio.to_thread.run_sync(self._pile.open_questions):
                while await self._send_one(judge):
                    pass

    async def collect(self) -> None:
        """Take in the replies of batches that have ended. Raises BatchFailed."""
        async with _Alone(self._here, self._lock):
            await self._recover()
            for batch in await anyio.to_thread.run_sync(self._pile.batches):
                if batch.state == "sent":
                    await self._collect_one(batch)

    async def _send_one(self, judge: str) -> bool:
        """False when no question of the judge is open."""
        way, name = self._way(judge), uuid.uuid4().hex
        taken = await anyio.to_thread.run_sync(
            lambda: self._pile.take(judge, way.address, name, most=self._most, most_bytes=MOST_BYTES)
        )
        if taken:
            content = await anyio.to_thread.run_sync(lambda: b"".join(_line(*each) for each in self._pile.bodies(name)))
            batch = await way.ask(way.office.create(name, content))
            await self._note_sent(name, batch)
        return bool(taken)

    async def _recover(self) -> None:
        """Find out about batches whose sending was interrupted: the provider has them, or they are sent anew."""
        for batch in await anyio.to_thread.run_sync(self._pile.batches):
            if batch.state == "sending":
                found = await self._found(self._way(batch.judge, batch.address), batch)
                if found is None:
                    await anyio.to_thread.run_sync(self._pile.never_sent, batch.name)
                else:
                    await self._note_sent(batch.name, found)

    async def _note_sent(self, name: str, batch: JsonObject) -> None:
        await anyio.to_thread.run_sync(self._pile.sent, name, str(batch["id"]), str(batch.get("status")))

    async def _found(self, way: "_Way", batch: Sent) -> JsonObject | None:
        """The provider's batch of that name; null when it has none."""
        after: str | None = None
        while page := await way.ask(way.office.page(after)):
            for each in page:
                if named(each) == batch.name:
                    return each
            made = page[-1].get("created_at")
            if len(page) < 100 or (isinstance(made, int | float) and made < batch.at - _LEEWAY_S):
                return None
            after = str(page[-1]["id"])
        return None

    async def _collect_one(self, batch: Sent) -> None:
        way = self._way(batch.judge, batch.address)
        found = await way.ask(way.office.retrieve(batch.provider_id or ""))
        status = str(found.get("status"))
        if status not in ENDED:
            await anyio.to_thread.run_sync(self._pile.tell, batch.name, status)
            return
        replies: list[tuple[str, int, bytes]] = []
        for file in (found.get("output_file_id"), found.get("error_file_id")):
            if file:
                content = await way.ask(way.office.content(str(file)))
                replies += await anyio.to_thread.run_sync(_replies, content)
        await anyio.to_thread.run_sync(self._pile.done, batch.name, _told(found, status), replies)

    def _way(self, judge: str, address: str | None = None) -> "_Way":
        settings = self._model(judge)
        found = office(settings, self._wire)
        if found is None:
            raise BatchFailed(f"judge {judge!r}: batches go to OpenAI, Azure and servers that speak OpenAI's protocol")
        way = _Way(judge, settings, found)
        if address is not None and way.address != address:
            raise BatchFailed(
                f"judge {judge!r}: a batch was sent to {address or 'the provider'}, and its address is now "
                f"{way.address or 'the provider'}: set it back until the batch is collected"
            )
        return way


class _Way:
    """To one judge's provider."""

    def __init__(self, judge: str, settings: ModelSettings, office: Office) -> None:
        self._judge = judge
        self._settings = settings
        self.office = office
        self.address = settings.api_base or ""

    async def ask(self, asked: Awaitable[T]) -> T:
        """Raises BatchFailed with the provider's words."""
        key = self._settings.api_key
        try:
            return await asked
        except Exception as error:  # an office raises whatever providers, their SDKs and litellm's gaps raise
            words = provider_error.words(error, secrets(key.get_secret_value() if key else None, os.environ))
            raise BatchFailed(f"judge {self._judge!r}: the provider of batches failed: {words}") from error


class _Alone:
    """The lock of a pile: within this process, then between processes."""

    def __init__(self, here: anyio.Lock, path: Path) -> None:
        self._here = here
        self._path = path

    async def __aenter__(self) -> None:
        await self._here.acquire()
        self._locks = KeyLocks(self._path)
        if not self._locks.claim("courier"):
            self._release()
            raise BatchFailed(f"another process sends or collects the batches of {self._path.parent}: try again")

    async def __aexit__(self, *_: object) -> None:
        self._release()

    def _release(self) -> None:
        self._locks.close()
        self._here.release()


def _line(digest: str, body: bytes) -> bytes:
    start = json.dumps({"custom_id": digest, "method": "POST", "url": ENDPOINT})
    return start[:-1].encode() + b', "body": ' + body + b"}\n"


def _replies(content: bytes) -> list[tuple[str, int, bytes]]:
    """(digest, status, body) of each line that can be read; the others have no reply."""
    found: list[tuple[str, int, bytes]] = []
    for line in content.splitlines():
        try:
            document: dict[str, Any] = json.loads(line)
            response: dict[str, Any] = document.get("response") or {
                "status_code": 500,
                "body": {"error": document.get("error")},
            }
            body = json.dumps(response["body"]).encode()
            found.append((str(document["custom_id"]), int(response["status_code"]), body))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
    return found


def _told(found: JsonObject, status: str) -> str:
    errors = found.get("errors")
    faults = errors.get("data") if isinstance(errors, dict) else None
    said = (
        [str(fault["message"]) for fault in faults or () if isinstance(fault, dict) and fault.get("message")]
        if isinstance(faults, list)
        else []
    )
    return "; ".join([status, *said])[:1_000]
