"""Names that token counts and other amounts have in usages: one table, from paths to meanings.

The names stand in ``shapes.toml``, which is read here. A path is what leads to a number inside a
usage, in small letters with underscores, whatever the log writes: ``inputTokenDetails.
cacheReadTokens``, ``gen_ai.usage.details.cache_read_tokens`` and ``InputTokenCount`` are
``input_token_details.cache_read_tokens``, ``details.cache_read_tokens`` and ``input_token_count``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from jeton._foreign import toml_of

TABLE: Final[Mapping[str, Any]] = toml_of(
    files("jeton.corpus.requests").joinpath("shapes.toml").read_text(encoding="utf-8")
)
"""Shapes of records, names of fields and names of amounts, as ``shapes.toml`` has them."""

_USAGE: Final[Mapping[str, Any]] = TABLE["usage"]


class Scheme(NamedTuple):
    """A pair of names that belong together: who writes them, input and output."""

    id: str
    source: str
    input: tuple[str, ...]
    output: tuple[str, ...]


SCHEMES: Final = tuple(
    Scheme(entry["id"], entry["source"], tuple(entry["input"]), tuple(entry["output"]))
    for entry in _USAGE["schemes"]
)
"""Names of the input and the output, in the order in which they are preferred."""

TOTAL: Final = "total"
FRESH: Final = "fresh"
READ_INSIDE: Final = "read inside"
READ_BESIDE: Final = "read beside"
READ_EITHER: Final = "read"
WRITE_INSIDE: Final = "write inside"
WRITE_BESIDE: Final = "write beside"
WRITE_EITHER: Final = "write"
WRITE_5M: Final = "write 5m"
WRITE_1H: Final = "write 1h"
REASONING: Final = "reasoning"
REASONING_BESIDE: Final = "reasoning beside"
TOOL_PROMPT: Final = "tool prompt"
SECONDS: Final = "seconds"
REQUESTS: Final = "requests"

CONVENTIONS: Final = frozenset(
    {
        TOTAL, FRESH, READ_BESIDE, READ_EITHER, READ_INSIDE, REASONING, REASONING_BESIDE,
        REQUESTS, TOOL_PROMPT, WRITE_1H, WRITE_5M, WRITE_BESIDE, WRITE_EITHER, WRITE_INSIDE,
    }
)  # fmt: skip
"""Amounts that are brought to one convention; all others are amounts by themselves."""

NOT_COUNTED: Final = "not counted"
"""Meaning of a path whose number stands elsewhere too, or is no amount."""


def _meanings(name: str) -> dict[str, str]:
    """A table of names by meaning, turned round: the meaning of each name."""
    return {path: meaning for meaning, paths in _USAGE[name].items() for path in paths}


COSTS: Final[Mapping[str, str]] = _meanings("costs")
"""Costs that a usage states, by their meaning."""

LISTS: Final[Mapping[str, str]] = _USAGE["lists"]
"""Lists of ``{modality, tokenCount}`` (Gemini), by what they split."""

IGNORED: Final = re.compile(
    rf"(^|\.)({'|'.join(pattern for group in _USAGE['ignored'].values() for pattern in group)})$"
)
"""Paths that hold no tokens and no money that is not counted elsewhere. Every other number under a
name that is not known makes a request's price an estimate, and is named."""


class Meaning(NamedTuple):
    """Meaning of a usage path.

    ``in`` or ``out`` of a scheme, an ``amount``, a ``word``, a ``cost``, ``steps``; empty: not
    counted.
    """

    kind: str
    name: str


def _paths() -> dict[str, Meaning]:
    paths: dict[str, Meaning] = {}
    for scheme in SCHEMES:
        paths.update((path, Meaning("in", scheme.id)) for path in scheme.input)
        paths.update((path, Meaning("out", scheme.id)) for path in scheme.output)
    for side, roots in _USAGE["details"].items():
        for root in roots:
            for part, name in _meanings(f"{side}_parts").items():
                paths.setdefault(f"{root}.{part}", _meaning(name))
    paths.update((path, Meaning("cost", name)) for path, name in COSTS.items())
    for table in ("single", "short"):
        for path, name in _meanings(table).items():
            paths.setdefault(path, _meaning(name))
    return paths


def _meaning(name: str) -> Meaning:
    kind, colon, word = name.partition(":")
    if colon:
        return Meaning(kind, word)
    return Meaning("", "") if name == NOT_COUNTED else Meaning("amount", name)


PATHS: Final[Mapping[str, Meaning]] = _paths()
"""Every path that is read, inside a usage."""

_SHORT_ONLY: Final = frozenset(
    (
        *_meanings("short"), *(path for scheme in SCHEMES if scheme.id == "short"
                  for path in (*scheme.input, *scheme.output)),
        "total", "seconds", "characters", "audio_seconds",
    )
)  # fmt: skip

FLAT_PATHS: Final[Mapping[str, Meaning]] = {
    **{
        path: meaning
        for path, meaning in PATHS.items()
        if path not in _SHORT_ONLY and meaning.kind not in ("word", "cost", "steps")
    },
    # A bucket of OpenAI's usage API.
    "input_cached_tokens": Meaning("amount", READ_INSIDE),
    # Rows of an export.
    "requests": Meaning("amount", REQUESTS),
    "request_count": Meaning("amount", REQUESTS),
}
"""Paths that are read among the fields of a record too."""

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@lru_cache(maxsize=8192)
def snake(name: str) -> str:
    """A name in small letters with underscores; dots stay."""
    if name.islower() and "-" not in name and " " not in name:
        return name
    return _HUMP.sub("_", name).replace("-", "_").replace(" ", "_").lower()
