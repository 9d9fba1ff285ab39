"""``jeton mcp`` with the official package's own client."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from click.testing import CliRunner
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import jeton
from jeton.cli.app import app
from jeton.service.agents import AgentTools
from jeton.service.agents.server import agent_server
from jeton.service.tokenizers import ServedTokenizers

TOOLS = {
    "count_tokens",
    "compare_tokenizers",
    "price_prompt",
    "audit_file",
    "explain_difference",
    "guard_text",
}
MAX_ANSWER_CHARS = 12_000


@pytest.fixture(scope="module")
def tokenizers() -> ServedTokenizers:
    return ServedTokenizers({"main": "jeton-general-32k", "med": "jeton-medical-32k"})


def ask(server: Any, work: Callable[[Client], Awaitable[None]]) -> None:
    async def main() -> None:
        async with Client(server) as client:
            await work(client)

    asyncio.run(main())


def value(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.content
    (part,) = result.content
    assert len(part.text) < MAX_ANSWER_CHARS
    found: dict[str, Any] = json.loads(part.text)
    assert result.structured_content in (None, found)
    return found


def refusal(result: Any) -> str:
    assert result.is_error
    return str(result.content[0].text)


def test_arguments_that_a_tool_does_not_have(tokenizers: ServedTokenizers, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"prompt": "Hello", "usage": {"prompt_tokens": 3}}\n', encoding="utf-8")

    async def work(client: Client) -> None:
        given = {"text": "a", "tokenizr": "med"}
        said = refusal(await client.call_tool("count_tokens", given))
        assert "'tokenizr'" in said
        assert "did you mean tokenizer" in said
        said = refusal(await client.call_tool("price_prompt", {"text": "a"}))
        assert said.endswith("price_prompt needs the argument 'model'")
        found = value(await client.call_tool("explain_difference", {"a": "main", "b": "med"}))
        assert ascii(found["text"])[:20] == found["text_escaped"][:20]

    ask(agent_server(AgentTools(tokenizers, (tmp_path,))), work)


def test_every_tool_is_described(tokenizers: ServedTokenizers) -> None:
    async def work(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == TOOLS
        for tool in tools:
            assert tool.description
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint

    ask(agent_server(AgentTools(tokenizers)), work)


def test_tools_answer(tokenizers: ServedTokenizers, tmp_path: Path) -> None:
    text = "The patient takes hydroxychloroquine. " * 50
    (tmp_path / "note.txt").write_text(text, encoding="utf-8")
    main, med = jeton.load("jeton-general-32k"), jeton.load("jeton-medical-32k")

    async def work(client: Client) -> None:
        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            return value(await client.call_tool(name, arguments))

        assert (await call("count_tokens", text=text))["tokens"] == main.count(text)
        by_path = await call("count_tokens", path="note.txt", tokenizer="med")
        assert by_path["tokens"] == med.count(text)
        assert by_path["fingerprint"] == med.fingerprint
        compared = await call("compare_tokenizers", path="note.txt")
        counts = [row["tokens"] for row in compared["tokenizers"]]
        assert counts == [main.count(text), med.count(text)]
        priced = await call("price_prompt", model="usd:1/2", text=text, output_tokens=1000)
        assert float(priced["usd"]) == pytest.approx(main.count(text) / 1e6 + 0.002)
        assert priced["basis"] == "estimated"
        audited = await call("audit_file", path="note.txt", price_model="usd:1/2")
        assert audited["bytes"] == len(text)
        assert list(audited["tokens"].values()) == [main.count(text)]
        explained = await call("explain_difference", a="main", b="med")
        assert explained["verdict"] == "different"
        assert main.encode(explained["text"]) != med.encode(explained["text"])

    ask(agent_server(AgentTools(tokenizers, (tmp_path,))), work)


def test_tools_refuse(tokenizers: ServedTokenizers, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")

    async def work(client: Client) -> None:
        async def refused(name: str, **arguments: Any) -> str:
            return refusal(await client.call_tool(name, arguments))

        for path in ("../secret.txt", str(tmp_path / "secret.txt"), "link.txt", "/etc/passwd", ""):
            words = await refused("count_tokens", path=path)
            assert "secret\n" not in words
        assert "not both" in await refused("count_tokens")
        assert "unknown tokenizer" in await refused("count_tokens", text="a", tokenizer="nope")
        assert "characters" in await refused("count_tokens", text="a" * 2_000_001)
        assert "unknown price model" in await refused("price_prompt", model="nope", text="a")
        assert "validation" in (await refused("count_tokens", text=3)).lower()
        assert await refused("audit_file", path="nowhere.jsonl", logs=True)

    ask(agent_server(AgentTools(tokenizers, (inside,))), work)


def test_the_command_over_standard_input(tmp_path: Path) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "jeton", "mcp", "-t", "main=jeton-general-32k", "--root", str(tmp_path)],
        env=_environment(),
    )

    async def work(client: Client) -> None:
        found = value(await client.call_tool("count_tokens", {"text": "Hello world"}))
        assert found["tokens"] == 2

    ask(stdio_client(parameters), work)


def test_tools_over_http(tokenizers: ServedTokenizers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = agent_server(AgentTools(tokenizers))
    app_of_tools = server.streamable_http_app(stateless_http=True, host="127.0.0.1")
    http = uvicorn.Server(uvicorn.Config(app_of_tools, port=port, log_level="error"))
    thread = threading.Thread(target=http.run, daemon=True)
    thread.start()
    try:
        while not http.started:
            assert thread.is_alive()
            time.sleep(0.02)

        async def work(client: Client) -> None:
            found = value(await client.call_tool("count_tokens", {"text": "Hello world"}))
            assert found["tokens"] == 2

        ask(f"http://127.0.0.1:{port}/mcp", work)
    finally:
        http.should_exit = True
        thread.join(30)


def test_the_command_lists_its_tools() -> None:
    result = CliRunner().invoke(app, ["mcp", "-t", "jeton-general-32k", "--json"])
    assert result.exit_code == 0, result.output
    assert {tool["name"] for tool in json.loads(result.stdout)["tools"]} == TOOLS


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)
