"""A court for tests: a service over HTTP with several judges, each a model of one provider with a script of its own."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stepjudge.client import JudgeClient
from stepjudge.contract import Scorecard
from stepjudge.trace import Trace
from stepjudge.verdict import Answer

from fakes.faults import Policy
from fakes.provider import Provider, Request
from scripted import Scripted, always
from serving import serving
from traces import call, of_calls

Script = Callable[[Request], Any]

STEPS = of_calls([call("view", "line one", path="/a.py"), call("view", "line two", path="/b.py")])
"""Two steps of one call each; of the second, facts leave all five criteria open."""

PRICE = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}


def model(provider: Provider, name: str, **settings: Any) -> dict[str, Any]:
    return {"model": f"openai/{name}", "api_base": provider.base_url, "attempts": 1, **PRICE, **settings}


def answering(**words: str) -> Scripted:
    """Yes to everything but these criteria; recovery is not applicable."""
    return Scripted(lambda _step, _unit, name: {"recovery": "not_applicable", **words}.get(name, "yes"))


class Bench:
    """The provider, and a client of the service that asks it."""

    def __init__(self, provider: Provider, client: JudgeClient) -> None:
        self.provider = provider
        self.client = client

    def score(self, judge: str, trace: Trace = STEPS, **options: Any) -> Scorecard:
        return self.client.score(trace, judge=judge, **options)

    def asked(self, model: str) -> int:
        """Requests that this model got."""
        return sum(request.model == model for request in self.provider.requests)


@contextmanager
def bench(
    data_dir: Path,
    scripts: Mapping[str, Script],
    courts: Mapping[str, Mapping[str, Any]],
    *,
    faults: Policy | None = None,
    models: Mapping[str, Mapping[str, Any]] | None = None,
    **settings: Any,
) -> Generator[Bench]:
    """A judge per script, under the script's name, and these courts of them. `models` adds to the settings of some."""

    def script(request: Request) -> Any:
        return scripts.get(request.model, always("yes"))(request)

    with Provider(script, faults=faults) as provider:
        judges = {name: model(provider, name, **(models or {}).get(name, {})) for name in scripts}
        with (
            serving(data_dir, judges={**judges, **courts}, **settings) as url,
            JudgeClient(url) as client,
        ):
            yield Bench(provider, client)


def answer(card: Scorecard, criterion: str, *, step: int) -> Answer:
    """The answer to a criterion of a step with one call."""
    (score,) = [each for each in card.steps if each.index == step]
    (found,) = [each for each in score.details if each.criterion == criterion]
    return found
