"""An office is where a provider takes batches and gives them back: over HTTP where it speaks OpenAI's protocol, else litellm."""
# pyright: basic

import json
import os
from typing import Any, Protocol

import aiohttp
import anyio
from yarl import URL

from judge_service.direct_line import OPENAI, Wire, key_of, reaches, read_all, refused
from judge_service.endpoint import addresses
from judge_service.litellm_line import litellm
from judge_service.model_name import provider
from judge_service.model_settings import ModelSettings
from stepjudge.value import JsonObject

ENDPOINT = "/v1/chat/completions"
_LONGEST_FILE = 512 * 2**20
_TIMEOUT_S = 600.0


class Office(Protocol):
    """Documents are OpenAI's. Whatever goes wrong rises as it is. Nothing is tried twice: a batch would be paid twice."""

    async def create(self, name: str, content: bytes) -> JsonObject:
        """Hand in a file of requests as a batch that keeps the name in its metadata."""
        ...

    async def retrieve(self, batch: str) -> JsonObject: ...

    async def content(self, file: str) -> bytes: ...

    async def page(self, after: str | None) -> list[JsonObject]:
        """Batches that this account has handed in, newest first, behind the one named."""
        ...


def office(settings: ModelSettings, wire: Wire) -> Office | None:
    """Null where batches are not offered."""
    at = addresses(settings.model, settings.api_base, os.environ)
    if settings.via != "litellm" and reaches(settings, at):
        return DirectOffice(settings, at, wire)
    return LitellmOffice(settings) if provider(settings.model) in ("openai", "azure", "hosted_vllm") else None


class DirectOffice:
    """Over the pooled client of the direct line."""

    def __init__(self, settings: ModelSettings, at: tuple[str, ...], wire: Wire) -> None:
        self._base = (settings.api_base or (at[0] if at else OPENAI)).rstrip("/")
        self._wire = wire
        self._headers = {"authorization": f"Bearer {key_of(settings) or 'none'}", "user-agent": "stepjudge"}

    async def create(self, name: str, content: bytes) -> JsonObject:
        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        form.add_field("file", content, filename=f"{name}.jsonl", content_type="application/jsonl")
        file = json.loads(await self._asked("POST", "/files", data=form))
        return json.loads(await self._asked("POST", "/batches", json=_order(name, file["id"])))

    async def retrieve(self, batch: str) -> JsonObject:
        return json.loads(await self._asked("GET", f"/batches/{batch}"))

    async def content(self, file: str) -> bytes:
        return await self._asked("GET", f"/files/{file}/content")

    async def page(self, after: str | None) -> list[JsonObject]:
        found = json.loads(
            await self._asked("GET", "/batches", params={"limit": "100", **({"after": after} if after else {})})
        )
        return found["data"]

    async def _asked(self, method: str, path: str, **how: Any) -> bytes:
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        url = URL(self._base + path, encoded=True)
        async with self._wire.session().request(
            method, url, headers=self._headers, timeout=timeout, allow_redirects=False, **how
        ) as response:
            raw = await read_all(response, _LONGEST_FILE)
        if response.status != 200:
            raise refused(response.status, raw, {})
        return raw


class LitellmOffice:
    """Through litellm's calls for files and batches."""

    def __init__(self, settings: ModelSettings) -> None:
        key = settings.api_key.get_secret_value() if settings.api_key else None
        self._how: dict[str, Any] = {
            "custom_llm_provider": provider(settings.model),
            "max_retries": 0,
            "timeout": _TIMEOUT_S,
        }
        if settings.api_base:
            # a key from the environment belongs to the provider, not to whoever listens at this address
            self._how |= {"api_base": settings.api_base, "api_key": key or "none"}
        elif key:
            self._how["api_key"] = key

    async def create(self, name: str, content: bytes) -> JsonObject:
        sdk = await anyio.to_thread.run_sync(litellm)
        upload = (f"{name}.jsonl", content, "application/jsonl")
        file = await sdk.acreate_file(file=upload, purpose="batch", **self._how)
        return (await sdk.acreate_batch(**_order(name, file.id), **self._how)).model_dump()

    async def retrieve(self, batch: str) -> JsonObject:
        sdk = await anyio.to_thread.run_sync(litellm)
        return (await sdk.aretrieve_batch(batch_id=batch, **self._how)).model_dump()

    async def content(self, file: str) -> bytes:
        sdk = await anyio.to_thread.run_sync(litellm)
        return (await sdk.afile_content(file_id=file, **self._how)).content

    async def page(self, after: str | None) -> list[JsonObject]:
        sdk = await anyio.to_thread.run_sync(litellm)
        found = await sdk.alist_batches(limit=100, **({"after": after} if after else {}), **self._how)
        return [each.model_dump() for each in found.data or ()]


def _order(name: str, file: str) -> dict[str, Any]:
    return {
        "input_file_id": file,
        "endpoint": ENDPOINT,
        "completion_window": "24h",
        "metadata": {"stepjudge": name},
    }


def named(batch: JsonObject) -> str | None:
    """The name that a batch was handed in under."""
    kept = batch.get("metadata")
    return str(kept["stepjudge"]) if isinstance(kept, dict) and kept.get("stepjudge") else None
