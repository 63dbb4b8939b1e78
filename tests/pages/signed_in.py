"""Signing in, as a person does it."""

import hashlib

from judge_service.settings import ApiKey, Scope

from pages.opened import Opened


def key(secret: str, *scopes: Scope) -> ApiKey:
    """A key for the settings `api_keys={"name": key(…)}`."""
    return ApiKey(sha256=hashlib.sha256(secret.encode()).hexdigest(), scopes=scopes)


def sign_in(opened: Opened, secret: str) -> None:
    """On the page for it, which must be open."""
    opened.page.fill("#key", secret)
    opened.page.click("main button[type=submit]")
