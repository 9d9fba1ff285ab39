"""The service with a sampler of its event loop's lag: ``python -m benches.service.lagging``.

Every 2 ms the loop should run the sampler; the time by which it is late goes to a file.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from jeton.service import ServiceSettings, create_app
from jeton.service.running import bound_socket, serve

_EVERY_SECONDS = 0.002


def main() -> None:
    """Serve one tokenizer at a port; write [time, lag] pairs to a file at the end."""
    tokenizer, port, file = sys.argv[1:]
    samples: list[tuple[float, float]] = []

    async def sample() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(_EVERY_SECONDS)
            now = time.monotonic()
            samples.append((now, now - before - _EVERY_SECONDS))

    tasks: list[asyncio.Task[None]] = []

    def start() -> None:
        tasks.append(asyncio.get_running_loop().create_task(sample()))

    gate = create_app(ServiceSettings(tokenizers={"main": tokenizer}, drain_seconds=0))
    listening = bound_socket("127.0.0.1", int(port))
    serve(gate, listening, on_start=start)
    Path(file).write_text(json.dumps(samples), encoding="utf-8")


if __name__ == "__main__":
    main()
