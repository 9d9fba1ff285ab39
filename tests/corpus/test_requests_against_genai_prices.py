"""The extractors of genai-prices and our reading agree, for every provider and API they know."""

from __future__ import annotations

from typing import Any

import pytest
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton.corpus import open_requests

EXTRACTORS = {
    f"{provider.id}/{extractor.api_flavor}": (provider, extractor)
    for provider in get_snapshot().providers
    for extractor in provider.extractors or ()
}

OURS = {
    "input_tokens": "input_tokens",
    "cache_read_tokens": "cache_read_tokens",
    "cache_write_tokens": "cache_write_tokens",
    "cache_write_1h_tokens": "cache_write_1h_tokens",
    "output_tokens": "output_tokens",
    "output_reasoning_tokens": "reasoning_tokens",
}

# What decides there by the provider alone is decided here by the total, which these leave out.
DIFFERENT = {
    "x-ai/chat": "adds reasoning to the completion even where a total says that it is in it",
    "x-ai/default": "the same",
    "cohere/tokens": "tokens that are not billed; here the billed ones count",
    "mistral/ocr_annotated": "the same fields as /ocr: nothing in the answer tells them apart",
    "perplexity/default": "reasoning beside the completion, tested below",
}


def put(target: dict[str, Any], path: Any, value: int) -> None:
    """Write a value where a path leads, making what is missing on the way."""
    steps = [path] if isinstance(path, str) else list(path)
    for place, step in enumerate(steps):
        is_last = place == len(steps) - 1
        if isinstance(step, str):
            if is_last:
                target[step] = value
                return
            following = steps[place + 1]
            if isinstance(following, str):
                target = target.setdefault(step, {})
                continue
            entries = target.setdefault(step, [])
            wanted = getattr(following.match, "equals", None)
            entry = next((e for e in entries if e.get(following.field) == wanted), None)
            if entry is None:
                entry = {following.field: wanted}
                entries.append(entry)
            target = entry


def response_of(extractor: Any, draw: Any) -> dict[str, Any]:
    """A response with a number wherever the extractor looks, parts smaller than their wholes."""
    response: dict[str, Any] = {}
    root: Any = extractor.root
    usage = response
    for step in [root] if isinstance(root, str) else root:
        usage = usage.setdefault(step, {})
    model_path = [extractor.model_path] if isinstance(extractor.model_path, str) else None
    if model_path:
        response[model_path[0]] = "some-model"
    wholes = {"input_tokens", "output_tokens"}
    seen: set[str] = set()
    for mapping in extractor.mappings:
        key = str(mapping.path)
        if key in seen:
            continue
        seen.add(key)
        dests = {m.dest for m in extractor.mappings if str(m.path) == key}
        is_part = not dests & wholes
        low, high = (0, 40) if is_part else (400, 900)
        put(usage, mapping.path, draw(st.integers(low, high)))
    return response


@pytest.mark.parametrize("name", sorted(set(EXTRACTORS) - set(DIFFERENT)))
@given(data=st.data())
@settings(max_examples=5, deadline=None)
def test_agrees(name: str, data: st.DataObject) -> None:
    provider, extractor = EXTRACTORS[name]
    response = response_of(extractor, data.draw)
    _, theirs = provider.extract_usage(response, api_flavor=extractor.api_flavor)
    stated: dict[str, Any] = dict(theirs._reported_values())
    record = {"provider": provider.id, "prompt": "Name a colour.", "response": response}
    stream = open_requests(iter([record]))
    (batch,) = list(stream)
    columns = batch.columns
    for key, column in OURS.items():
        if key in stated:
            found = int(getattr(columns, column)[0])
            # A split of writes by lifetime may be larger than a total that was drawn apart.
            if key == "cache_write_tokens" or (
                key == "input_tokens" and "cache_write_5m_tokens" in stated
            ):
                split = stated.get("cache_write_5m_tokens", 0) + stated.get(
                    "cache_write_1h_tokens", 0
                )
                written = max(stated.get("cache_write_tokens", 0), split)
                more = written - stated.get("cache_write_tokens", 0)
                expected = written if key == "cache_write_tokens" else stated[key] + more
            else:
                expected = stated[key]
            assert found == expected, (key, response, stated)
    for key, amount in stated.items():
        if key in OURS or "text" in key or key.startswith("cache_write_5m") or not amount:
            continue
        if key.endswith("_tool_tokens") and key != "input_tool_tokens":
            continue  # the kinds of what tools sent are in the kinds of the input
        scale = 1_000 if key.endswith("_seconds") else 1
        assert int(columns.extra(key)[0]) == amount * scale, (key, response, stated)


def test_perplexity_counts_reasoning_and_citations_beside_the_completion() -> None:
    provider, extractor = EXTRACTORS["perplexity/default"]
    response = {
        "model": "sonar-deep-research",
        "usage": {
            "prompt_tokens": 33,
            "completion_tokens": 7_163,
            "total_tokens": 7_196,
            "citation_tokens": 20_016,
            "num_search_queries": 18,
            "reasoning_tokens": 73_997,
        },
    }
    _, theirs = provider.extract_usage(response, api_flavor=extractor.api_flavor)
    (batch,) = list(open_requests(iter([{"prompt": "q", "response": response}])))
    assert int(batch.columns.output_tokens[0]) == theirs.output_tokens
    assert int(batch.columns.extra("web_searches")[0]) == theirs.web_searches


def test_every_difference_is_still_one_of_an_extractor() -> None:
    assert set(DIFFERENT) <= set(EXTRACTORS)
