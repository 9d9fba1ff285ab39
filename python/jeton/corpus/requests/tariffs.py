"""Tariffs of a request out of the words of logs: the one that was served before the one asked for.

OpenAI writes ``service_tier`` into the request and, what was served, into the response; Anthropic,
Gemini (``trafficType``) and Bedrock have words of their own. Files of batches show by their shape.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

TARIFF_WORDS: Final[dict[str, str]] = {
    "": "", "auto": "", "none": "", "null": "", "unspecified": "", "traffic_type_unspecified": "",
    "default": "standard", "standard": "standard", "standard_only": "standard",
    "on_demand": "standard", "on-demand": "standard",
    "flex": "flex", "on_demand_flex": "flex",
    "priority": "priority", "on_demand_priority": "priority",
    "batch": "batch", "fast": "fast",
}  # fmt: skip
"""Words by tariff; empty: the word does not say which."""

_MAX_CHARS: Final = 40
_SPEEDS: Final = {"fast": "fast"}


def tariff_of(served: Any, asked: Any, speed: Any, *, is_batch: bool) -> tuple[str, str]:
    """The tariff, ``standard`` where nothing says otherwise, and a word that is in no table.

    Args:
        served: The tier that the answer names.
        asked: The tier that the request asked for; it counts where the answer says nothing.
        speed: ``fast`` for Anthropic's fast mode.
        is_batch: The record is of a file of batches.
    """
    return _tariff_of_words(_word(served), _word(asked), _word(speed), is_batch)


def with_geo(tariff: str, geo: str) -> str:
    """The tariff with the part of the world in which an answer had to be computed (Anthropic)."""
    word = _word(geo)
    if word in _NO_GEO:
        return tariff
    return f"{tariff}+inference_geo={word}".removeprefix("standard+")


_NO_GEO: Final = ("", "global", "not_available", "none", "null")


def _word(value: Any) -> str:
    return value.strip().lower()[:_MAX_CHARS] if isinstance(value, str) else ""


@lru_cache(maxsize=1024)
def _tariff_of_words(
    served: str,
    asked: str,
    speed: str,
    is_batch: bool,  # noqa: FBT001
) -> tuple[str, str]:
    unknown = tariff = ""
    for word in (served, asked):
        found = TARIFF_WORDS.get(word)
        if found is None:
            unknown = unknown or word
        elif found:
            tariff = found
            break
    parts = []
    if is_batch or tariff == "batch":
        parts.append("batch")
    elif tariff and tariff != "standard":
        parts.append(tariff)
    if _SPEEDS.get(speed) and "fast" not in parts:
        parts.append("fast")
    return "+".join(parts) or "standard", unknown
