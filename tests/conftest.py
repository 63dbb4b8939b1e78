"""Fixtures and settings that all tests share."""

import os

from hypothesis import settings

from llama import llama

__all__ = ["llama"]

settings.register_profile("stepjudge", deadline=None, max_examples=50, derandomize="CI" in os.environ)
settings.load_profile("stepjudge")
