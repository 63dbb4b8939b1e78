"""Fixtures and settings that all tests share."""

import os

from hypothesis import settings

from llama import llama
from servers import cache_url, ledger_url, postgres_server, redis_server

__all__ = ["cache_url", "ledger_url", "llama", "postgres_server", "redis_server"]

settings.register_profile("stepjudge", deadline=None, max_examples=50, derandomize="CI" in os.environ)
settings.load_profile("stepjudge")
