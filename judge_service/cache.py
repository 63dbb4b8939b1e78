"""The cache holds verdicts by key. It may be deleted at any time, and no trouble with it ever costs an answer."""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

import anyio
from pydantic import ValidationError

from stepjudge.verdict import Verdict

T = TypeVar("T")

log = logging.getLogger(__name__)

_FORMAT = "1:"
"""Written before each value. A value of another format is a miss."""


class StoreTrouble(Exception):
    """The store cannot be used now."""


class Store(Protocol):
    """Text by key, and leases on keys, shared by processes. Its methods block, and raise StoreTrouble."""

    def get(self, keys: Sequence[str]) -> Mapping[str, str]:
        """The texts that are there. What is no text of ours is not there."""
        ...

    @property
    def quick(self) -> bool:
        """Whether a look at one key, and a lease, take so little time that no thread is worth it."""
        ...

    def put(self, texts: Mapping[str, str]) -> None:
        """Keep all of them, or none."""
        ...

    def forget(self, keys: Sequence[str]) -> None: ...

    def claim(self, key: str, holder: str, lease_s: float) -> bool:
        """Take the lease on a key, unless another holder has it. It ends by itself when the holder's process does."""
        ...

    def renew(self, keys: Sequence[str], holder: str, lease_s: float) -> None: ...

    def release(self, key: str, holder: str) -> None: ...

    def close(self) -> None: ...


class Cache:
    """Verdicts by key, in a store that several processes may share.

    After any trouble the store is left alone for `retry_s`, so that a dead one does not add its timeout to every step;
    then one caller tries again. The log tells when trouble begins and when it ends, not every time.
    """

    def __init__(
        self, opening: Callable[[], Store], *, namespace: str = "", retry_s: float = 5.0, lease_s: float = 30.0
    ) -> None:
        """`namespace` is of the ledger: verdicts that another ledger holds could not be audited here."""
        self._opening = opening
        self._namespace = namespace and f"{namespace}:"
        self._retry_s = retry_s
        self.lease_s = lease_s
        self._holder = secrets.token_hex(8)
        self._held: set[str] = set()
        self._keeping = anyio.CancelScope()
        self._unwritten: dict[str, str] = {}
        self._written = anyio.Event()
        self._writing = False
        self._store: Store | None = None
        self._again_at = 0.0
        self._closed = False
        self._lock = threading.Lock()
        """Two threads must not open the store at once."""
        self.well = True
        self._use(lambda _store: None, None)

    async def get(self, key: str) -> Verdict | None:
        """The verdict, or null."""
        return (await self._soon(lambda store: self._got(store, [key]), {})).get(key)

    async def get_all(self, keys: Sequence[str]) -> dict[str, Verdict]:
        """The verdicts that are remembered, by key. In a thread: hundreds take long enough to keep others waiting."""
        return await self._in_thread(lambda store: self._got(store, keys), {}) if keys else {}

    async def put(self, verdict: Verdict) -> None:
        """Remember a verdict. Those that come while others are being written share the next write."""
        self._unwritten[self._name(verdict.key)] = _FORMAT + verdict.model_dump_json()
        written = self._written
        if self._writing:
            await written.wait()
            return
        self._writing = True
        try:
            while texts := self._unwritten:
                written, self._written, self._unwritten = self._written, anyio.Event(), {}
                with anyio.CancelScope(shield=True):  # others wait for it
                    await self._put(texts)
                written.set()
        finally:
            self._writing = False

    async def _put(self, texts: Mapping[str, str]) -> None:
        await self._in_thread(lambda store: store.put(texts), None)

    async def forget(self, keys: Iterable[str]) -> None:
        """Remember these verdicts no more."""
        names = [self._name(key) for key in keys]
        await self._in_thread(lambda store: store.forget(names), None)

    async def claim(self, key: str) -> bool:
        """Whether this process may judge: no other one that shares the store does. Without the store, each one may."""
        name = self._name(key)
        claimed = await self._soon(lambda store: store.claim(name, self._holder, self.lease_s), otherwise=True)
        if claimed:
            self._held.add(name)
        return claimed

    async def release(self, key: str) -> None:
        name = self._name(key)
        self._held.discard(name)
        await self._soon(lambda store: store.release(name, self._holder), None)

    async def running(self) -> None:
        """Keep the leases that are held, until `stop`."""
        with self._keeping:
            while True:
                await anyio.sleep(self.lease_s / 3)
                if held := tuple(self._held):
                    await anyio.to_thread.run_sync(self._renew, held)

    def stop(self) -> None:
        """Keep leases no longer."""
        self._keeping.cancel()

    def close(self) -> None:
        self._closed = True
        if self._store is not None:
            self._store.close()

    def _renew(self, names: Sequence[str]) -> None:
        self._use(lambda store: store.renew(names, self._holder, self.lease_s), None)

    def _got(self, store: Store, keys: Sequence[str]) -> dict[str, Verdict]:
        names = {self._name(key): key for key in keys}
        texts = store.get(list(names))
        read = {names[name]: _read(text) for name, text in texts.items() if name in names}
        return {key: verdict for key, verdict in read.items() if verdict is not None and verdict.key == key}

    def _name(self, key: str) -> str:
        return self._namespace + key

    async def _soon(self, work: Callable[[Store], T], otherwise: T) -> T:
        """At once where the store is open, well and quick."""
        if self._store is not None and self._store.quick and not self._again_at:
            return self._use(work, otherwise)
        return await self._in_thread(work, otherwise)

    async def _in_thread(self, work: Callable[[Store], T], otherwise: T) -> T:
        return await anyio.to_thread.run_sync(lambda: self._use(work, otherwise))

    def _use(self, work: Callable[[Store], T], otherwise: T) -> T:
        """What the store gives; `otherwise` where it cannot be used."""
        try:
            store = self._opened()
            if store is None:
                return otherwise
            found = work(store)
        except StoreTrouble as error:
            self._again_at = time.monotonic() + self._retry_s
            if self.well:
                log.warning("going on without the verdict cache, verdicts are in the ledger too: %s", error)
            self.well = False
            return otherwise
        if not self.well:
            log.warning("the verdict cache is back")
        self.well = True
        self._again_at = 0.0
        return found

    def _opened(self) -> Store | None:
        """The store, or null while it is left alone."""
        if self._again_at:
            with self._lock:
                if time.monotonic() < self._again_at:
                    return None
                self._again_at = time.monotonic() + self._retry_s  # the others wait for what this one finds
        if self._store is None:
            with self._lock:
                if self._store is None and not self._closed:
                    self._store = self._opening()
        return self._store


def _read(text: str) -> Verdict | None:
    if not text.startswith(_FORMAT):
        return None
    try:
        return Verdict.model_validate_json(text.removeprefix(_FORMAT))
    except ValidationError:
        return None
