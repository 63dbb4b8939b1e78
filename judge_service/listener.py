"""The listener is uvicorn with patience: for clients that send or read too slowly it ends, and when told to stop it drains.

uvicorn itself waits for ever for the rest of a request, and for a client to read its answer.
"""
# pyright: basic

import asyncio
import logging
from functools import partial
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from judge_service.drain import Drain
from judge_service.settings import Settings

log = logging.getLogger(__name__)

LEAST_BYTES = 64 * 1024
"""What has to arrive of a request, or leave of an answer, each time the patience is over."""

_KEEP_ALIVE_S = 20
"""For an idle connection: longer than clients and proxies keep theirs, or they send into one that is just being closed."""

_CUT_S = 5


class PatientProtocol(H11Protocol):
    """One connection. Each `patience_s` a client must have finished its request or sent a good piece of it."""

    def __init__(self, *arguments: Any, patience_s: float, most: int, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._patience_s = patience_s
        self._most = most
        self._came = 0
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._most:
            transport.abort()
            return
        self._reading = self.loop.call_later(self._patience_s, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_reading_clock()
        if self._writing is not None:
            self._writing.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._came += len(data)
        super().data_received(data)
        if not self._awaits_more:
            self._stop_reading_clock()
        elif self._reading is None:
            self._came = len(data)
            self._reading = self.loop.call_later(self._patience_s, self._look)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._writing is None:
            left = self.transport.get_write_buffer_size()
            self._writing = self.loop.call_later(self._patience_s, self._look_at_reader, left)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None

    @property
    def _awaits_more(self) -> bool:
        """Whether the client is at the beginning or in the middle of a request."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and not self.transport.is_closing()

    def _look(self) -> None:
        self._reading = None
        if not self._awaits_more:
            return
        if self._came >= LEAST_BYTES or self.flow.read_paused:  # we do not read: the client cannot send
            self._came = 0
            self._reading = self.loop.call_later(self._patience_s, self._look)
            return
        if self._came and self.conn.their_state is h11.IDLE:
            self.transport.write(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
        log.info("a client took too long to send its request")
        self.transport.close()

    def _look_at_reader(self, before: int) -> None:
        self._writing = None
        left = self.transport.get_write_buffer_size()
        if before - left < LEAST_BYTES:
            log.info("a client took too long to read its answer")
            self.transport.abort()
            return
        self._writing = self.loop.call_later(self._patience_s, self._look_at_reader, left)

    def _stop_reading_clock(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


class DrainingServer(uvicorn.Server):
    """Once told to stop, it listens on while it drains: a proxy then hears 503 rather than nothing."""

    def __init__(self, config: uvicorn.Config, drain: Drain, grace_s: float) -> None:
        super().__init__(config)
        self._drain = drain
        self._grace_s = grace_s

    async def main_loop(self) -> None:
        await super().main_loop()
        self._drain.begin()
        log.info("stopping: %d requests are under way and have %g s", self._drain.under_way, self._grace_s)
        if cut := await self._drain.finish(self._grace_s, lambda: self.force_exit):
            log.warning("%d requests were cut", cut)


def listener(app: FastAPI, settings: Settings, **options: Any) -> DrainingServer:
    """A server for the app, not started. Options are uvicorn's."""
    protocol = partial(PatientProtocol, patience_s=settings.patience_s, most=settings.max_connections)
    config = uvicorn.Config(
        app,
        **{
            "host": settings.host,
            "port": settings.port,
            "http": protocol,
            "ws": "none",
            "log_config": None,
            "access_log": False,
            "timeout_keep_alive": _KEEP_ALIVE_S,
            "timeout_graceful_shutdown": _CUT_S,
            **options,
        },
    )
    return DrainingServer(config, app.state.drain, settings.grace_s)
