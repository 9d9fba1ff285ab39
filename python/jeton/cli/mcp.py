"""``jeton mcp``: tools for coding agents and chat programs."""

from __future__ import annotations

import click

from jeton.cli import options, streams
from jeton.cli.declaring import OptionSet, command, option
from jeton.errors import MissingExtraError


class _Options(OptionSet):
    """Options of the command."""

    tokenizers: tuple[str, ...] = option(
        "Tokenizer by the name that tools use; the first one is the default. Repeatable.",
        "[NAME=]T",
        names="-t --tokenizer",
        required=True,
    )
    roots: tuple[str, ...] = option(
        "Folder whose files may be read; the current one by default. Repeatable.",
        "D",
        names="--root",
        type=click.Path(exists=True, file_okay=False),
    )
    is_http: bool = option("Serve over HTTP instead of stdio, at /mcp.", names="--http")
    host: str = option("Address to listen at.", "HOST", default="127.0.0.1")
    port: int = option("Port to listen at.", "N", type=click.IntRange(1, 65535), default=8778)
    as_json: bool = options.JSON


@command()
def mcp(*, given: _Options) -> None:
    """Give counts, prices and audits to coding agents (Model Context Protocol).

    Tools count and compare tokens, price a prompt, audit a file or log, and explain a
    difference of two tokenizers. They read no file outside of --root and ask no network. --json
    lists them with their schemas and leaves.

    \b
    Examples:
      jeton mcp --tokenizer o200k_base
      jeton mcp -t main=./model -t o200k_base --root ~/project
      claude mcp add jeton -- jeton mcp -t o200k_base
    """
    try:
        import mcp as package  # noqa: F401
    except ImportError:
        raise MissingExtraError("jeton mcp", extra="service") from None
    from pathlib import Path

    from jeton.cli.serve import pairs
    from jeton.service.agents import AgentTools
    from jeton.service.agents.server import agent_server, run_agent_server
    from jeton.service.tokenizers import ServedTokenizers

    tokenizers = ServedTokenizers(pairs(given.tokenizers, "--tokenizer", names_itself=True))
    roots = tuple(Path(root) for root in given.roots) or (Path.cwd(),)
    server = agent_server(AgentTools(tokenizers, roots))
    if given.as_json:
        import asyncio

        tools = asyncio.run(server.list_tools())
        listed = [tool.model_dump(mode="json", exclude_none=True) for tool in tools]
        streams.write_json({"schema_version": "jeton.mcp/1", "tools": listed})
        return
    if given.is_http:
        streams.say(f"jeton: tools at http://{given.host}:{given.port}/mcp")
    run_agent_server(
        server,
        "http" if given.is_http else "stdio",
        host=given.host,
        port=given.port,
    )
