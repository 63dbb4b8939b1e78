"""The document check: whether a JSON, YAML or TOML file of the final environment holds the right values."""

from pathlib import PurePosixPath
from typing import Literal, Self

from pydantic import Field, JsonValue, model_validator

from stepjudge.checks.check import Check, CheckEvidence, Finding, Scene
from stepjudge.checks.running.clock import Clock, in_thread
from stepjudge.checks.running.condition import ValueCondition, shown
from stepjudge.checks.running.content import MAX_BYTES, Language, Malformed, read_content
from stepjudge.checks.running.query import Query, selected
from stepjudge.checks.running.root import Inside, Root

_LANGUAGES: dict[str, Language] = {".json": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml"}


class Document(Check):
    """One file that holds a JSON value, or what amounts to one."""

    kind: Literal["document"] = "document"
    path: Inside
    language: Language | None = None
    """By the file's ending when null."""
    query: Query = "$"
    value: ValueCondition = Field(default_factory=ValueCondition)
    """Of what the query selects; when nothing is given, that it selects something."""

    @model_validator(mode="after")
    def _has_a_language(self) -> Self:
        if self.language is None and PurePosixPath(self.path).suffix not in _LANGUAGES:
            raise ValueError(f"language: cannot be told from {self.path!r}: json, yaml or toml")
        return self

    async def run(self, scene: Scene) -> Finding:
        root = Root.of(scene)
        return await in_thread(lambda clock: self._look(root, clock))

    def _look(self, root: Root, clock: Clock) -> Finding:
        kind = root.kind(self.path)
        if kind != "file":
            return self._found((f"{'nothing' if kind == 'missing' else f'a {kind}'} is at {self.path!r}",))
        language = self.language or _LANGUAGES[PurePosixPath(self.path).suffix]
        text = root.read(self.path, MAX_BYTES[language]).decode("utf-8", "replace")
        try:
            values = selected(self.query, read_content(text, language), clock)
        except Malformed as error:
            return self._found((str(error),), CheckEvidence.of(self.path, text))
        return self._found(self.value.unmet(values, clock), self._evidence(values))

    def _evidence(self, values: list[JsonValue]) -> CheckEvidence:
        return CheckEvidence.of(f"{self.path} {self.query}", "\n".join(map(shown, values[:50])))

    def _found(self, unmet: tuple[str, ...], *evidence: CheckEvidence) -> Finding:
        said = "; ".join(unmet[:5]) or "as it must be"
        return Finding(
            outcome="fail" if unmet else "pass", reason=f"{self.path!r} at {self.query}: {said}", evidence=evidence
        )
