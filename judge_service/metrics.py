"""Metrics are numbers about a service for Prometheus: what was asked, judged, paid and waited for.

Names of judges and models may come from callers: beyond so many, they count as `other`, so that no caller fills the memory.
"""

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from judge_service.model import Completion
from stepjudge.scorecard import Landed

MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4
OTHER = "other"
_MOST_NAMES = 100

_QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SLOW = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320)

Gauge = tuple[str, str, dict[str, str], float]
"""(name, what it is, labels, value)"""


class Metrics:
    """In a registry of its own: two services in one process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._names: set[str] = set()
        self._requests = self._counter("requests", "HTTP requests.", "method", "route", "status")
        self._request_s = self._seconds("request", "From the request's head to the last byte.", _SLOW, "route")
        self._refused = self._counter("refused", "Requests turned away for a limit of their key.", "limit")
        self._verdicts = self._counter("verdicts", "Verdicts that callers got.", "judge", "source")
        self._undetermined = self._counter("undetermined_answers", "Answers that could not be had.", "judge", "cause")
        self._judge_s = self._seconds("judge", "Judging one step that was not remembered.", _SLOW, "judge")
        self._ledger_s = self._seconds("ledger_write", "Until a verdict is on disk.", _QUICK)
        self._model_s = self._seconds("model", "A model's completion, with its retries.", _SLOW, "model")
        self._asked = self._counter(
            "model_requests", "Tries to ask a model, by how the completion ended.", "model", "end"
        )
        self._tokens = self._counter("tokens", "Tokens that providers counted.", "model", "kind")
        self._cost = self._counter("cost_usd", "What completions cost, where the price is known.", "model")

    def requested(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._request_s.labels(route).observe(seconds)

    def refused(self, limit: str) -> None:
        self._refused.labels(limit).inc()

    def landed(self, judge: str, item: Landed) -> None:
        name = self._bounded(judge)
        self._verdicts.labels(name, "remembered" if item.cached else "judged").inc()
        for answer in item.verdict.answers:
            if answer.cause:
                self._undetermined.labels(name, answer.cause).inc()

    def judged(self, judge: str, seconds: float) -> None:
        self._judge_s.labels(self._bounded(judge)).observe(seconds)

    def stored(self, seconds: float) -> None:
        self._ledger_s.observe(seconds)

    def completed(self, model: str, completion: Completion) -> None:
        name = self._bounded(model)
        self._model_s.labels(name).observe(completion.latency_s)
        self._asked.labels(name, "completion").inc(completion.attempts)
        counted = {
            "prompt": completion.prompt_tokens,
            "cached": completion.cached_tokens,
            "completion": completion.completion_tokens,
        }
        for kind, tokens in counted.items():
            self._tokens.labels(name, kind).inc(tokens or 0)
        self._cost.labels(name).inc(completion.cost_usd or 0.0)

    def unavailable(self, model: str, cause: str, attempts: int) -> None:
        self._asked.labels(self._bounded(model), cause).inc(attempts)

    def gauges(self, read: Callable[[], Iterable[Gauge]]) -> None:
        """Numbers that are read when somebody looks."""
        self.registry.register(_Read(read))

    def page(self) -> bytes:
        return generate_latest(self.registry)

    def _bounded(self, name: str) -> str:
        if name not in self._names and len(self._names) >= _MOST_NAMES:
            return OTHER
        self._names.add(name)
        return name

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"stepjudge_{name}", about, labels, registry=self.registry)

    def _seconds(self, name: str, about: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"stepjudge_{name}_seconds", about, labels, buckets=buckets, registry=self.registry)


class _Read(Collector):
    def __init__(self, read: Callable[[], Iterable[Gauge]]) -> None:
        self._read = read

    def describe(self) -> list[GaugeMetricFamily]:
        return []  # or the registry would read them when they are registered

    def collect(self) -> Iterable[GaugeMetricFamily]:
        families: dict[str, GaugeMetricFamily] = {}
        for name, about, labels, value in self._read():
            family = families.setdefault(name, GaugeMetricFamily(f"stepjudge_{name}", about, labels=tuple(labels)))
            family.add_metric(tuple(labels.values()), value)
        return families.values()
