"""The bound: aiohttp alone, told how many may be under way, asking and reading."""

import sys
from pathlib import Path

sys.path.remove(str(Path(__file__).parent))  # this file has the name of the package
import json

from aiohttp import ClientSession, TCPConnector

sys.path.append(str(Path(__file__).parent))
import case

open_: list[ClientSession] = []


async def judge(text: str) -> bool:
    if not open_:
        open_.append(ClientSession(connector=TCPConnector(limit=0)))
    body = json.dumps({"model": "fake", "messages": [{"role": "user", "content": f"{text}\n{case.QUESTION}"}]}).encode()
    headers = {"content-type": "application/json"}
    async with open_[0].post(f"{case.BASE_URL}/chat/completions", data=body, headers=headers) as response:
        said = json.loads(await response.read())
    return "score" in json.loads(said["choices"][0]["message"]["content"])


case.run("aiohttp", judge)
