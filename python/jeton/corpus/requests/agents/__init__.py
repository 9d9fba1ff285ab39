"""Session files of coding agents: one module for each, and one line here.

A module lists its kinds of records (``base.Agent``): how a record is recognized, and its reader.
Kinds are asked in the order of the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from jeton.corpus.requests.agents import (
    aider,
    amp,
    claude_code,
    cline,
    codex,
    copilot,
    cursor,
    gemini_cli,
    goose,
    opencode,
    pi,
)
from jeton.corpus.requests.agents.base import Agent, FileState

__all__ = ["AGENTS", "SHAPES_OF_AGENTS", "TAKEN_APART", "FileState"]

AGENTS: Final[tuple[Agent, ...]] = (
    *codex.AGENTS,
    *claude_code.AGENTS,
    *copilot.AGENTS,
    *pi.AGENTS,
    *opencode.AGENTS,
    *gemini_cli.AGENTS,
    *cline.AGENTS,
    *aider.AGENTS,
    *amp.AGENTS,
    *goose.AGENTS,
    *cursor.AGENTS,
)

TAKEN_APART: Final = frozenset({cline.HISTORY})
"""Names of files whose list holds records; elsewhere a list of messages is one chat."""

SHAPES_OF_AGENTS: Final[Mapping[str, str]] = {agent.shape: agent.told for agent in AGENTS}
"""Shapes of logs, with the words that describe their records."""
