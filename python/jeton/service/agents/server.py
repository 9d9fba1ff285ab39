"""The tools as a server of the Model Context Protocol, on the official package."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from jeton._core import __version__
from jeton._nearest import nearest
from jeton._os_errors import os_message
from jeton.errors import JetonError
from jeton.service.agents import AgentTools

_INSTRUCTIONS = (
    "Exact token counts, prices and audits by real tokenizers. Counts of text are exact for the "
    "tokenizer that is named; `basis` says so. Nothing is sent anywhere."
)
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def agent_server(tools: AgentTools) -> MCPServer[Any]:
    """Return a server that has the tools."""
    server: MCPServer[Any] = _Server(
        "jeton", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    for tool in (
        tools.count_tokens,
        tools.compare_tokenizers,
        tools.price_prompt,
        tools.audit_file,
        tools.explain_difference,
        tools.guard_text,
    ):
        server.tool(name=tool.__name__, annotations=_READS)(_told(tool))
    return server


class _Server(MCPServer[Any]):
    """A server that names arguments that a tool does not have: a misspelt one changes a count."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool after a look at the names of its arguments."""
        tool = self._tool_manager.get_tool(name)
        known = tool.parameters.get("properties", {}) if tool is not None else arguments
        for given in arguments:
            if given not in known:
                near = nearest(given, known)
                raise ToolError(
                    f"{name} has no argument {given[:40]!r}\n"
                    f"hint: {'did you mean ' if near else ''}{', '.join(near or known)}"
                )
        for needed in tool.parameters.get("required", ()) if tool is not None else ():
            if needed not in arguments:
                raise ToolError(f"{name} needs the argument {needed!r}")
        return await super().call_tool(name, arguments, context)


def run_agent_server(
    server: MCPServer[Any],
    transport: Literal["stdio", "http"],
    *,
    host: str = "127.0.0.1",
    port: int = 8778,
) -> None:
    """Run until the client goes (standard input and output), or a signal comes (HTTP at /mcp)."""
    logging.getLogger("mcp").setLevel(logging.WARNING)
    if transport == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host=host, port=port, stateless_http=True)


def _told(tool: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Turn errors of ours into words for the model; others stay a crash without details."""

    @functools.wraps(tool)
    def call(*given: Any, **named: Any) -> dict[str, Any]:
        try:
            return tool(*given, **named)
        except JetonError as error:
            raise ToolError(str(error)) from None
        except OSError as error:
            raise ToolError(os_message(error)) from None

    return call
