"""Tariffs of a request out of the words of logs: the one that was served before the one asked for.

OpenAI writes ``service_tier`` into the request and, what was served, into the response; Anthropic,
Gemini (``trafficType``) and Bedrock have words of their own. Files of batches show by their shape.

Facts that change a price beside the tariff: the kind of search, and the route through a gateway.

Perplexity charges by the kind of its search and by how much it reads, OpenRouter by the provider
and region that an answer came from. They stand behind the tariff's word, as the price list has
them: ``standard+search_type=fast``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from jeton.corpus.requests.facts_plan import Places

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


_SEARCH_TYPES: Final = ("fast", "pro", "auto", "web")
_CONTEXTS: Final = ("low", "medium", "high")
_MAX_ROUTE_CHARS: Final = 60


def variant_of(provider: str, model: str, words: Mapping[str, str], places: Places) -> str:
    """Variant that a request states, as ``key=value``; empty: nothing that matters.

    Args:
        provider: Who answered.
        model: The model's name.
        words: Words of the usage (``usage_paths.Amounts``).
        places: Response, request and record.
    """
    if provider == "perplexity" or model.startswith(("sonar", "perplexity/")):
        search = words.get("search", "") or _search_type(places)
        context = words.get("context", "")
        parts = []
        if search in _SEARCH_TYPES and search != "web":
            parts.append(f"search_type={search}")
        if context in _CONTEXTS:
            parts.append(f"search_context_size={context}")
        return "+".join(parts)
    if provider == "openrouter":
        route = _route(places)
        return f"route={route}" if route else ""
    return ""


def searches_of_gateway(provider: str, model: str, places: Places) -> int:
    """Searches that OpenRouter added to a request: by the model's suffix, or by its plug-in."""
    if provider != "openrouter" and "/" not in model:
        return 0
    if model.endswith(":online"):
        return 1
    plugins = _field(places[1], "plugins")
    is_on = isinstance(plugins, list) and any(
        isinstance(plugin, dict) and plugin.get("id") == "web" for plugin in plugins
    )
    return 1 if is_on else 0


def _field(place: tuple[Any, Any], name: str) -> Any:
    fields, known = place
    return fields[known.keys[name]] if name in known.has else None


def _search_type(places: Places) -> str:
    for place in places:
        value = _field(place, "search_type")
        options = _field(place, "web_search_options")
        if value is None and isinstance(options, dict):
            value = options.get("search_type")
        tools = _field(place, "tools")
        for tool in tools if value is None and isinstance(tools, list) else ():
            if isinstance(tool, dict) and "search_type" in tool:
                value = tool["search_type"]
        if isinstance(value, str):
            return value.lower()
    return ""


def _route(places: Places) -> str:
    """The endpoint with its region (``mistral/eu``), as stated or as the only one allowed."""
    for place in places:
        value = _field(place, "route")
        if isinstance(value, str) and "/" in value and len(value) <= _MAX_ROUTE_CHARS:
            return value.lower()
    wanted = _field(places[1], "provider")
    if isinstance(wanted, dict):
        order = wanted.get("only") or wanted.get("order")
        only = order[0] if isinstance(order, list) and len(order) == 1 else None
        if isinstance(only, str) and "/" in only:
            return only.lower()[:_MAX_ROUTE_CHARS]
    return ""
