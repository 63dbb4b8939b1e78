"""A suite is a named, versioned set of tasks. Its digest says whether two runs were about the same tasks."""

from collections.abc import Mapping
from functools import cached_property
from typing import Self

from pydantic import Field, model_validator

from stepjudge.digest import digest
from stepjudge.task import Identity, Task
from stepjudge.value import Value
from stepjudge.view import View


class Suite(Value):
    """A set of tasks, each with the suite's views beside its own."""

    name: Identity
    version: str = "0"
    tasks: tuple[Task, ...] = Field(min_length=1)
    views: dict[str, View] = Field(default_factory=dict[str, View])
    """Views that every task has. Where a task has one of the same name, its own holds."""

    @model_validator(mode="after")
    def _holds_each_task_once(self) -> Self:
        ids = [task.id for task in self.tasks]
        if twice := sorted({each for each in ids if ids.count(each) > 1}):
            raise ValueError(f"task {twice[0]!r} stands twice in suite {self.name!r}: give each an id of its own")
        return self

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the suite's canonical JSON."""
        return digest(self.model_dump(mode="json"))

    @cached_property
    def by_id(self) -> Mapping[str, Task]:
        """Every task, with the suite's views, by its id and in the suite's order."""
        return {task.id: task.model_copy(update={"views": {**self.views, **task.views}}) for task in self.tasks}
