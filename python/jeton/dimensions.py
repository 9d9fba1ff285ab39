"""Amounts of a request that providers count and charge for: names, units and what holds what.

Names are the usage keys of `genai-prices`, the field's own list; a test compares both. An amount
holds its parts: ``input_tokens`` has in it what was read from and written to a cache and all kinds
of input, ``output_tokens`` has reasoning in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = [
    "DIMENSIONS",
    "FACTS",
    "MODALITIES",
    "NOT_BILLED",
    "SCALE",
    "Dimension",
    "holds",
    "plain_name",
]

MODALITIES = ("text", "audio", "image", "video")
"""Kinds of tokens that some models price apart."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One kind of amount.

    Attributes:
        name: Usage key, as in `genai-prices`.
        unit: Unit of the amount in plain words (``"tokens"``, ``"seconds"``, ``"searches"``).
        parent: The dimension that it is a part of (the first, where there are two); None: of none.
        attributes: Attributes that set it apart; a dimension holds every other that has all of its
            own.
    """

    name: str
    unit: str
    parent: str | None
    attributes: frozenset[tuple[str, str]]

    @property
    def lifetime(self) -> str:
        """Time that written tokens stay in a cache (``5m``, ``1h``); empty: not stated."""
        return dict(self.attributes).get("cache_ttl", "")


def _tokens() -> Iterator[tuple[str, str, tuple[tuple[str, str], ...]]]:
    family = ("family", "tokens")
    for direction, own_types in (
        ("input", ("", "cache_read", "cache_write", "cache_write_5m", "cache_write_1h", "tool")),
        ("output", ("", "reasoning", "citation")),
    ):
        for own_type in own_types:
            for modality in ("", *MODALITIES):
                kind, _, ttl = own_type.partition("write_")
                token_type = f"{kind}write" if ttl else own_type
                attributes = [family, ("direction", direction)]
                attributes += [("modality", modality)] if modality else []
                attributes += [("token_type", token_type)] if token_type else []
                attributes += [("cache_ttl", ttl)] if ttl else []
                if own_type.startswith("cache_"):
                    parts = ("cache", modality, own_type.removeprefix("cache_"))
                else:
                    parts = (direction, modality, own_type)
                name = "_".join(part for part in (*parts, "tokens") if part)
                yield name, "tokens", tuple(attributes)


_OTHERS = (
    ("input_characters", "characters", {"family": "characters", "direction": "input"}),
    (
        "input_text_messages",
        "messages",
        {"family": "messages", "direction": "input", "modality": "text"},
    ),
    ("audio_seconds", "seconds", {"family": "durations", "modality": "audio"}),
    (
        "input_audio_seconds",
        "seconds",
        {"family": "durations", "direction": "input", "modality": "audio"},
    ),
    (
        "output_audio_seconds",
        "seconds",
        {"family": "durations", "direction": "output", "modality": "audio"},
    ),
    ("input_pixels", "pixels", {"family": "pixels", "direction": "input"}),
    ("input_document_pages", "pages", {"family": "document_pages", "direction": "input"}),
    (
        "input_annotated_document_pages",
        "pages",
        {"family": "document_pages", "direction": "input", "page_type": "annotated"},
    ),
    ("rerank_searches", "searches", {"family": "rerank"}),
    ("web_searches", "searches", {"family": "tool_calls", "tool_type": "web_search"}),
    ("social_searches", "searches", {"family": "tool_calls", "tool_type": "social_search"}),
    ("storage_searches", "searches", {"family": "tool_calls", "tool_type": "storage_search"}),
    ("code_executions", "runs", {"family": "tool_calls", "tool_type": "code_execution"}),
    ("requests", "requests", {"family": "requests"}),
)


def _built() -> dict[str, Dimension]:
    rows = [*_tokens(), *((name, unit, tuple(own.items())) for name, unit, own in _OTHERS)]
    sets = {name: frozenset(own) for name, _, own in rows}
    found = {}
    for name, unit, _ in rows:
        above = [other for other, own in sets.items() if own < sets[name]]
        # The nearest one that holds it: the parent has the most attributes in common.
        parent = max(above, key=lambda other: len(sets[other]), default=None)
        found[name] = Dimension(name, unit, parent, sets[name])
    return found


DIMENSIONS: Mapping[str, Dimension] = MappingProxyType(_built())
"""Every dimension by name."""

SCALE: Mapping[str, int] = MappingProxyType(
    {name: 1000 if d.unit == "seconds" else 1 for name, d in DIMENSIONS.items()}
)
"""Stored whole numbers for one unit: seconds are stored as whole milliseconds."""


FACTS: Mapping[str, str] = MappingProxyType(
    {
        "stated_requests": "requests whose log states their cost",
        "stated_nanousd": "the stated cost, in billionths of a USD",
        "own_key_requests": "stated requests that the provider bills to a key of one's own",
        "gateway_nanousd": "the gateway's fee for them, in billionths of a USD",
        "doubtful_requests": "requests with a field of usage that was not read or contradicts",
        "summed_requests": "rows that add up a number of requests that is not known",
    }
)
"""Facts that stand beside the amounts of a request; none of them is charged for."""

NOT_BILLED = "not-billed"
"""Tariff of requests for which a provider sends no bill: refused before any output."""


def holds(whole: str, part: str) -> bool:
    """True if a dimension is another one or has it as a part."""
    return DIMENSIONS[whole].attributes <= DIMENSIONS[part].attributes


_PLAIN = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_tokens": "cache read",
    "cache_write_tokens": "cache write",
    "cache_write_5m_tokens": "cache write, 5 minutes",
    "cache_write_1h_tokens": "cache write, 1 hour",
    "output_reasoning_tokens": "reasoning",
    "output_citation_tokens": "citations",
    "input_tool_tokens": "tool input",
}


def plain_name(name: str) -> str:
    """Name a dimension in plain words (``cache read``, ``audio input``, ``web searches``)."""
    known = _PLAIN.get(name)
    if known is not None:
        return known
    own = dict(DIMENSIONS[name].attributes) if name in DIMENSIONS else {}
    if own.get("family") != "tokens":
        return name.replace("_", " ")
    words = [own.get("modality", "")]
    kind = own.get("token_type", "")
    if kind.startswith("cache"):
        words.append(kind.replace("_", " "))
    else:
        words += [own["direction"], kind]
    if "cache_ttl" in own:
        words[-1] += {"5m": ", 5 minutes", "1h": ", 1 hour"}[own["cache_ttl"]]
    return " ".join(word for word in words if word)
