"""A source is bytes that are read once, forward, and never whole: plain or gzip, without the byte order mark."""

import gzip
import io
import zlib
from collections.abc import Callable
from typing import IO, Protocol

from stepjudge.errors import UnreadableTrace
from stepjudge.formats.reading import limits

_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
_BUFFER = 2**18
SPLIT = "write one trace per line (JSONL), which is read line by line, or split the file"


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class _Counted(io.RawIOBase):
    """Passes bytes on, counts them, and has each count looked at."""

    def __init__(self, stream: _Readable, check: Callable[[int], None]) -> None:
        self._stream = stream
        self._check = check
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self.count += len(data)
        self._check(self.count)
        return len(data)


class Source:
    """A stream of bytes with the name of its file, which its errors tell."""

    def __init__(self, stream: IO[bytes], name: str, *, packed_size: int | None = None) -> None:
        """`packed_size` is for members of archives, whose stream is unpacked already."""
        self.name = name
        self._packed_size = packed_size
        self._packed = _Counted(stream, self._check if packed_size is not None else _accept)
        self._stream = io.BufferedReader(self._packed, _BUFFER)
        head = self._peek()
        if head.startswith(_GZIP):
            self._stream = io.BufferedReader(_Counted(gzip.GzipFile(fileobj=self._stream), self._check), _BUFFER)
            head = self._peek()
        if head.startswith(_UTF16):
            raise UnreadableTrace(f"{name}: the text is UTF-16: save it as UTF-8")
        self.is_zip = head.startswith(_ZIP)
        if head.startswith(_BOM):
            self.read(len(_BOM))

    def _peek(self) -> bytes:
        return self._guarded(lambda: self._stream.peek(4))

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size` of them; none at the end."""
        return self._guarded(lambda: self._stream.read(size))

    def line(self, limit: int) -> bytes:
        """The next line with its end, or as much of it as the limit allows; nothing at the end."""
        return self._guarded(lambda: self._stream.readline(limit))

    def rest(self, limit: int = limits.MAX_DOCUMENT_BYTES) -> bytes:
        data = self.read(limit + 1)
        if len(data) > limit:
            raise UnreadableTrace(f"{self.name}: longer than {limit:,} bytes: {SPLIT}")
        return data

    def _guarded(self, read: Callable[[], bytes]) -> bytes:
        try:
            return read()
        except EOFError:
            raise UnreadableTrace(f"{self.name}: the compressed data ends too early: copy the file again") from None
        except (zlib.error, gzip.BadGzipFile) as error:
            raise UnreadableTrace(
                f"{self.name}: the compressed data is damaged ({error}): copy the file again"
            ) from None
        except OSError as error:
            raise UnreadableTrace(f"{self.name}: cannot be read: {error.strerror or error}") from None

    def _check(self, unpacked: int) -> None:
        """Refuses a decompression bomb."""
        packed = self._packed.count if self._packed_size is None else self._packed_size
        if unpacked > limits.MAX_UNPACKED_BYTES:
            raise UnreadableTrace(f"{self.name}: unpacks to over {limits.MAX_UNPACKED_BYTES:,} bytes: split it")
        if unpacked > max(limits.RATIO_FREE_BYTES, limits.MAX_RATIO * packed):
            raise UnreadableTrace(
                f"{self.name}: unpacks to more than {limits.MAX_RATIO} times its size, as decompression bombs do: "
                "if you trust it, unpack it first"
            )


def _accept(count: int) -> None:
    del count
