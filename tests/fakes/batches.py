"""A batch desk takes files of requests and answers them later, as the batch APIs of providers do.

    with Provider(script, fates=[Fate("expired", answered=2)]) as provider:
        provider.desk.held = True       # batches stay in progress
        ...
        provider.desk.held = False      # they end with the next look at them

Lines come back in another order than they were sent in.
"""

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import orjson

from fakes.request import Document

Complete = Callable[[bytes], tuple[int, bytes]]
"""(body of a chat completion) → (status, body of the answer)."""


@dataclass(frozen=True, slots=True)
class Fate:
    """How a batch ends."""

    status: Literal["completed", "expired", "failed"] = "completed"
    answered: int | None = None
    """How many of its lines are answered; all when None."""
    silent: int = 0
    """How many answered lines get lost without an error."""


@dataclass
class _Batch:
    document: Document
    fate: Fate


@dataclass
class Desk:
    """Read by the test's thread, written by the provider's."""

    complete: Complete
    fates: Sequence[Fate] = ()
    held: bool = False
    unanswered: int = 0
    """How many batches are taken without telling the client: the connection breaks."""
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    _batches: dict[str, _Batch] = field(default_factory=dict[str, _Batch])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def batches(self) -> list[Document]:
        return [dict(batch.document) for batch in self._batches.values()]

    def handle(self, method: str, path: str, body: bytes) -> tuple[int, bytes] | None:
        """(status, body) of the answer; (0, b"") where the connection is to break; null for other paths."""
        with self._lock:
            match method, path.removeprefix("/v1").strip("/").split("/"):
                case "POST", ["files"]:
                    return 200, self._upload(body)
                case "GET", ["files", file, "content"]:
                    return (200, self.files[file]) if file in self.files else (404, b"{}")
                case "POST", ["batches"]:
                    return self._create(orjson.loads(body))
                case "GET", ["batches"]:
                    newest = [batch.document for batch in reversed(self._batches.values())]
                    return 200, orjson.dumps({"object": "list", "data": newest, "has_more": False})
                case "GET", ["batches", name] if name in self._batches:
                    return 200, orjson.dumps(self._looked_at(self._batches[name]))
                case _:
                    return None

    def _upload(self, body: bytes) -> bytes:
        """The part of the multipart body that has a file name."""
        boundary = body.partition(b"\r\n")[0]
        parts = [part for part in body.split(boundary) if re.search(rb'filename="', part)]
        content = parts[0].partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
        file = f"file-{len(self.files) + 1}"
        self.files[file] = content
        told: Document = {"id": file, "object": "file", "bytes": len(content), "created_at": int(time.time())}
        return orjson.dumps({**told, "filename": "batch.jsonl", "purpose": "batch", "status": "processed"})

    def _create(self, asked: Document) -> tuple[int, bytes]:
        number = len(self._batches) + 1
        document: Document = {
            "id": f"batch_{number}",
            "object": "batch",
            "endpoint": asked["endpoint"],
            "input_file_id": asked["input_file_id"],
            "completion_window": asked["completion_window"],
            "metadata": asked.get("metadata"),
            "status": "in_progress",
            "created_at": int(time.time()),
        }
        self._batches[document["id"]] = _Batch(
            document, self.fates[number - 1] if number <= len(self.fates) else Fate()
        )
        if self.unanswered:
            self.unanswered -= 1
            return 0, b""
        return 200, orjson.dumps(document)

    def _looked_at(self, batch: _Batch) -> Document:
        if batch.document["status"] == "in_progress" and not self.held:
            self._end(batch)
        return batch.document

    def _end(self, batch: _Batch) -> None:
        fate, document = batch.fate, batch.document
        document["status"] = fate.status
        if fate.status == "failed":
            document["errors"] = {"object": "list", "data": [{"code": "invalid", "message": "The file is no good."}]}
            return
        lines = [orjson.loads(line) for line in self.files[document["input_file_id"]].splitlines()]
        count = len(lines) if fate.answered is None else fate.answered
        output, errors = list[bytes](), list[bytes]()
        for place, line in enumerate(lines):
            if place >= count:
                error = {"code": "batch_expired", "message": "This request could not be executed in time."}
                errors.append(orjson.dumps({"custom_id": line["custom_id"], "response": None, "error": error}))
                continue
            status, body = self.complete(orjson.dumps(line["body"]))
            response = {"status_code": status, "request_id": f"r{place}", "body": orjson.loads(body)}
            answered = orjson.dumps({"custom_id": line["custom_id"], "response": response, "error": None})
            (output if status == 200 else errors).append(answered)
        for name, found in (("output_file_id", output[: len(output) - fate.silent]), ("error_file_id", errors)):
            if found:
                document[name] = f"{document['id']}-{name}"
                self.files[document[name]] = b"\n".join(reversed(found)) + b"\n"
