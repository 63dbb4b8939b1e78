"""A target file is YAML that says which model endpoint or HTTP agent attempts the tasks, and how it is asked."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
from pydantic import TypeAdapter, ValidationError

from stepjudge.suite_page import SuitePage, page_of, spelled
from stepjudge.targets.agent import AgentSpecification, AgentTarget
from stepjudge.targets.callable import NAMED, imported
from stepjudge.targets.model import ModelSpecification, ModelTarget
from stepjudge.targets.target import BadTarget, Target
from stepjudge.yaml_page import NoPage, Place

_FREE = ("body", "parameters", "tools")
_KINDS: dict[str, type[AgentSpecification] | type[ModelSpecification]] = {
    "http": AgentSpecification,
    "model": ModelSpecification,
}


@asynccontextmanager
async def opened_target(named: str) -> AsyncGenerator[Target]:
    """The target that the command line names: `module:function`, or a target file."""
    if NAMED.fullmatch(named) and not await anyio.Path(named).is_file():
        yield imported(named)
        return
    chosen = read_target_file(Path(named))
    # an attempt may take as long as the runner lets it
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(None, connect=10.0)) as http:
        if isinstance(chosen, ModelSpecification):
            yield ModelTarget(chosen, http, _variable(chosen.api_key_env) if chosen.api_key_env else None)
        else:
            yield AgentTarget(chosen, http, {key: _variable(name) for key, name in chosen.headers_env.items()})


def read_target_file(path: Path) -> AgentSpecification | ModelSpecification:
    """The specification in a file. Raises BadTarget with a line for each fault."""
    try:
        page = page_of(path, _is_free)
    except NoPage as error:
        raise BadTarget(spelled(path, error.fault)) from error
    if page.faults:
        raise BadTarget("\n".join(spelled(path, fault) for fault in page.faults))
    kind = page.document.get("kind")
    if kind not in _KINDS:
        known = " or ".join(map(repr, _KINDS))
        fault = page.fault(
            ("kind",), f"'kind' is {kind!r}: write {known}; a callable is named on the command line only"
        )
        raise BadTarget(spelled(path, fault))
    return _validated(path, page, _KINDS[str(kind)])


def _validated(
    path: Path, page: SuitePage, model: type[AgentSpecification] | type[ModelSpecification]
) -> AgentSpecification | ModelSpecification:
    adapter: TypeAdapter[AgentSpecification | ModelSpecification] = TypeAdapter(model)
    try:
        return adapter.validate_python(page.document)
    except ValidationError as error:
        faults = [
            page.fault(detail["loc"], f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}")
            for detail in error.errors(include_url=False)
        ]
        raise BadTarget("\n".join(spelled(path, fault) for fault in faults)) from error


def _is_free(place: Place) -> bool:
    return bool(place) and place[0] in _FREE


def _variable(name: str) -> str:
    if name not in os.environ:
        raise BadTarget(f"there is no environment variable {name!r}, which the target needs")
    return os.environ[name]
