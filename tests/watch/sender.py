"""A program with OpenTelemetry's own exporter: ``python -m tests.watch.sender URL N``."""

from __future__ import annotations

import json
import sys

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def main() -> None:
    """Send spans of chats by OTLP, compressed, in batches."""
    address, n = sys.argv[1], int(sys.argv[2])
    provider = TracerProvider()
    exporter = OTLPSpanExporter(endpoint=address, compression=Compression.Gzip)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_export_batch_size=32))
    tracer = provider.get_tracer("sender")
    for number in range(n):
        with tracer.start_as_current_span("chat m") as span:
            message = {"role": "user", "parts": [{"type": "text", "content": f"Hello {number}"}]}
            span.set_attributes(
                {
                    "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
                    "gen_ai.usage.input_tokens": 11, "gen_ai.usage.output_tokens": 3,
                    "gen_ai.input.messages": json.dumps([message]),
                }
            )  # fmt: skip
    provider.shutdown()


if __name__ == "__main__":
    main()
