"""Tracing makes spans: of a request, of the judging of a step, of a call to a model. Off, it costs nothing.

Names and attributes are OpenTelemetry's, of HTTP and of generative AI. No span holds what an agent or a model said.
"""
# pyright: basic

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from judge_service.version import VERSION

Attributes = Mapping[str, Any]

log = logging.getLogger(__name__)


class Span:
    """A span that is not recorded."""

    trace_id: str | None = None

    def tell(self, attributes: Attributes) -> None:
        """Attributes whose value is null are left out."""

    def event(self, name: str, attributes: Attributes) -> None: ...

    def failed(self, kind: str) -> None: ...


class Tracing:
    """No spans at all."""

    @contextmanager
    def span(
        self,
        name: str,
        attributes: Attributes,
        kind: Literal["server", "client", "internal"] = "internal",
        carrier: Mapping[str, str] | None = None,
    ) -> Iterator[Span]:
        """A span for the block. `carrier`: the headers of a request, which may name the span it belongs to."""
        yield Span()

    def close(self) -> None:
        """Send what is left. Blocks."""


class OtlpTracing(Tracing):
    """Spans go to a collector over OTLP/HTTP, in the background. The standard variables `OTEL_…` hold as well."""

    def __init__(self, endpoint: str) -> None:
        """Raises ModuleNotFoundError without the extra `otel`."""
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        resource = Resource.create({"service.name": "stepjudge", "service.version": VERSION})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint.rstrip("/") + "/v1/traces", timeout=5)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("stepjudge", VERSION)

    @contextmanager
    def span(
        self,
        name: str,
        attributes: Attributes,
        kind: Literal["server", "client", "internal"] = "internal",
        carrier: Mapping[str, str] | None = None,
    ) -> Iterator[Span]:
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        context = TraceContextTextMapPropagator().extract(dict(carrier)) if carrier is not None else None
        kinds = {"server": SpanKind.SERVER, "client": SpanKind.CLIENT, "internal": SpanKind.INTERNAL}
        with self._tracer.start_as_current_span(
            name,
            context=context,
            kind=kinds[kind],
            attributes=_known(attributes),
            # what an exception says may be what a model or a caller said
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            recorded = _Recorded(span)
            try:
                yield recorded
            except Exception as error:
                recorded.failed(type(error).__name__)
                raise

    def close(self) -> None:
        self._provider.shutdown()


class _Recorded(Span):
    def __init__(self, span: Any) -> None:
        self._span = span
        self._failed = False
        self.trace_id = f"{span.get_span_context().trace_id:032x}"

    def tell(self, attributes: Attributes) -> None:
        self._span.set_attributes(_known(attributes))

    def event(self, name: str, attributes: Attributes) -> None:
        self._span.add_event(name, _known(attributes))

    def failed(self, kind: str) -> None:
        if self._failed:
            return  # the first one to know knows best
        self._failed = True
        from opentelemetry.trace import Status, StatusCode

        self._span.set_attribute("error.type", kind)
        self._span.set_status(Status(StatusCode.ERROR))


def _known(attributes: Attributes) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
