"""A real Phoenix as the source of a watch; ``JETON_PHOENIX`` names its program."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from jeton.watch import Monitor
from jeton.watch.collectors import Phoenix, open_live
from jeton.watch.run import Outputs, WatchRun
from tests.watch.streams import TOKENIZER

pytestmark = [pytest.mark.slow, pytest.mark.timeout(500)]


@pytest.fixture
def phoenix(tmp_path: Path) -> Iterator[str]:
    """The address of a Phoenix on the loopback, with a data folder of its own."""
    program = os.environ.get("JETON_PHOENIX") or shutil.which("phoenix")
    if program is None:
        pytest.skip(
            "Phoenix is not installed (pip install arize-phoenix, JETON_PHOENIX=its program)"
        )
    ports = []
    for _ in range(2):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(free.getsockname()[1])
    settings = {
        "PHOENIX_WORKING_DIR": str(tmp_path), "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(ports[0]), "PHOENIX_GRPC_PORT": str(ports[1]),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }  # fmt: skip
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, "serve"], env={**os.environ, **settings}, stdout=log, stderr=log
        )
        address = f"http://127.0.0.1:{ports[0]}"
        try:
            end = time.monotonic() + 400
            while time.monotonic() < end and process.poll() is None:
                try:
                    with urllib.request.urlopen(f"{address}/v1/projects", timeout=2):
                        break
                except (urllib.error.URLError, OSError):
                    time.sleep(0.5)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)


def test_spans_of_phoenix_are_watched_once(phoenix: str) -> None:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider()
    exporter = OTLPSpanExporter(endpoint=f"{phoenix}/v1/traces")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for n in range(3):
        with provider.get_tracer("t").start_as_current_span("chat") as span:
            span.set_attributes(
                {
                    "openinference.span.kind": "LLM", "llm.model_name": "m",
                    "llm.token_count.prompt": 9, "llm.token_count.completion": 2,
                    "llm.input_messages.0.message.role": "user",
                    "llm.input_messages.0.message.content": f"Hello {n}",
                }
            )  # fmt: skip
    provider.shutdown()
    source = open_live(f"phoenix:{phoenix}#default")
    assert isinstance(source, Phoenix)
    monitor = Monitor(tokenizer=TOKENIZER)
    run = WatchRun(monitor, Outputs())
    run.follow([source], every_seconds=1, for_seconds=15)
    assert monitor.n_requests == 3
    assert monitor.sums.total().n_bytes == 3 * len("Hello 0")
