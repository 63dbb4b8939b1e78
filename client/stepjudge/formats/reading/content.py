"""Content is what a message or a result says: text, or parts of which some are text and others are attachments."""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass

from pydantic import JsonValue

from stepjudge.formats.reading.shape import as_object, as_text, identifier
from stepjudge.trace import Attachment
from stepjudge.value import JsonObject

_KINDS = ("image", "audio", "video", "document", "file")
_PLACES = (
    "image_url",
    "input_audio",
    "source",
    "file",
    "inlineData",
    "inline_data",
    "fileData",
    "file_data",
    "resource",
)
_ADDRESSES = ("url", "uri", "path", "fileUri", "file_uri", "file_url", "file_id")
_DATA = ("data", "file_data", "blob", "bytes")
_MEDIA_TYPES = ("media_type", "mimeType", "mime_type", "format")


@dataclass(frozen=True)
class Content:
    text: str = ""
    attachments: tuple[Attachment, ...] = ()


_NOTHING = Content()


def read_content(value: JsonValue) -> Content:
    """Text as it is, parts joined by line breaks, anything else as compact JSON: nothing is lost on the way."""
    match value:
        case None:
            return _NOTHING
        case str():
            return Content(value)
        case list():
            return _joined([_part(part) for part in value])
        case dict() if "type" in value or "text" in value:
            return _part(value)
        case _:
            return Content(compact(value))


def compact(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _joined(parts: list[Content]) -> Content:
    texts = [part.text for part in parts if part.text]
    return Content("\n".join(texts), tuple(attachment for part in parts for attachment in part.attachments))


def _part(part: JsonValue) -> Content:
    match part:
        case str():
            return Content(part)
        case {"text": str(text)}:  # text, input_text, output_text, and types yet to be invented
            return Content(text)
        case {"refusal": str(text)}:
            return Content(text)
        case dict():
            found = attachment(part)
            return Content(attachments=(found,)) if found else Content(compact(part))
        case None:
            return Content()
        case _:
            return Content(compact(part))


def attachment(part: JsonObject) -> Attachment | None:
    """The attachment that a content part stands for, in the spelling of any provider; null when it is none."""
    holder = next((part[place] for place in _PLACES if place in part), None)
    body = holder if isinstance(holder, dict) else part
    address = holder if isinstance(holder, str) else _first(body, _ADDRESSES)
    data = _first(body, _DATA)
    media_type = _first(body, _MEDIA_TYPES) or None
    kind = _kind(as_text(part.get("type")), media_type)
    if address.startswith("data:"):
        return _inline(kind, address)
    if data:
        return Attachment(kind=kind, media_type=media_type, source=_digest(data))
    if address or any(word in as_text(part.get("type")) for word in _KINDS):
        return Attachment(kind=kind, media_type=media_type, source=address)
    return None


def _first(body: JsonObject, keys: tuple[str, ...]) -> str:
    return next((found for key in keys if (found := identifier(as_object(body).get(key)))), "")


def _kind(type_: str, media_type: str | None) -> str:
    stated = next((kind for kind in _KINDS if kind in type_), None)
    guessed = (media_type or "").partition("/")[0]
    return stated or (guessed if guessed in _KINDS else "file")


def _inline(kind: str, address: str) -> Attachment:
    head, _, data = address.partition(",")
    media_type = head.removeprefix("data:").partition(";")[0] or None
    return Attachment(kind=_kind(kind, media_type), media_type=media_type, source=_digest(data))


def _digest(data: str) -> str:
    """Of the bytes where the data is base64, so that one image has one digest in every format."""
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raw = data.encode()
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"
