"""A real server on loopback, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from jeton.service import ServiceSettings, create_app
from jeton.service.gate import Gate
from jeton.service.running import bound_socket, make_server

CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if tools %}{{ tools | tojson }}{% endif %}"
    "{% if enable_thinking %}<think>{% endif %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SHAPES = ("vllm", "sglang=/sg", "llama.cpp=/llama", "tei=/tei", "anthropic", "openai", "cohere")


@dataclass(frozen=True)
class Live:
    """A server that runs."""

    url: str
    host: str
    port: int
    gate: Gate

    def post(self, path: str, body: Any, **headers: str) -> httpx.Response:
        return httpx.post(self.url + path, json=body, headers=headers, timeout=30)

    def get(self, path: str, **headers: str) -> httpx.Response:
        return httpx.get(self.url + path, headers=headers, timeout=30)


@contextmanager
def live(settings: ServiceSettings, **options: Any) -> Iterator[Live]:
    gate = create_app(settings, **options)
    listening = bound_socket("127.0.0.1", 0)
    port = listening.getsockname()[1]
    started = threading.Event()
    server = make_server(gate, on_start=started.set)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not started.wait(0.05):
        assert thread.is_alive(), "the server did not start"
    try:
        yield Live(f"http://127.0.0.1:{port}", "127.0.0.1", port, gate)
    finally:
        server.begin_stop(at_once=True)
        thread.join(60)
        listening.close()
        assert not thread.is_alive()


def settings(folder: Path, **fields: Any) -> ServiceSettings:
    template = folder / "template.jinja"
    template.write_text(CHAT_TEMPLATE, encoding="utf-8")
    given: dict[str, Any] = {
        "tokenizers": {"main": "jeton-general-32k", "med": "jeton-medical-32k"},
        "compat": SHAPES,
        "templates": {"main": template},
        "models": {"claude-*": "med", "gpt-*": "med"},
        "context_tokens": {"main": 8192},
    }
    return ServiceSettings(**{**given, **fields})
