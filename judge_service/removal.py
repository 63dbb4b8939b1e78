"""A removal is recorded: an act says which rule removed how many records, with a digest over their ids."""

import hashlib
from typing import Literal

from stepjudge.value import Value


class Count(Value):
    """How many records were removed, and which."""

    records: int
    ids: str
    """Digest over their ids, in the order of their seals."""


class Act(Value):
    """What an operator did to the ledger."""

    kind: Literal["prune"] = "prune"
    created_at: str
    before: str
    """Verdicts that were made before this time were removed."""
    service_version: str
    removed: Count


class Removed:
    """Counts records as they are removed, or as they are found to be gone."""

    def __init__(self) -> None:
        self._records = 0
        self._ids = hashlib.sha256()

    def add(self, reference: str) -> None:
        self._records += 1
        self._ids.update(f"{len(reference)}:{reference}".encode())

    @property
    def value(self) -> Count:
        return Count(records=self._records, ids=f"sha256:{self._ids.hexdigest()}")
