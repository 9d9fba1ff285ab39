"""Tools for coding agents and chat programs, by the Model Context Protocol.

`tools` is plain functions with limits; `server` gives them to the official ``mcp`` package.
"""

from __future__ import annotations
