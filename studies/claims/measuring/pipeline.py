"""Naive pipeline against engineered pipeline on one stated workload, with measured factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from jeton.catalog import price
from jeton.economics import Remedy, naive_engineered, waterfall
from jeton.economics.serving.own_gpu import HOURS_PER_MONTH
from studies.claims.data import Data
from studies.claims.figures import Figure, ratio
from studies.claims.measuring.money import PRICE_DAY

__all__ = ["ABOUT", "KIND", "MODEL", "measure", "seen_before"]

ABOUT = (
    "A month of Azure's conversations at list price, naive and with what a cache and a batch save"
)
KIND = "fast"

MODEL = "openai:gpt-4o"

CLAIMED_NAIVE, CLAIMED_ENGINEERED = 12_500, 4_800
"""USD per month."""

_BLOCK_TOKENS = 512
"""Tokens that one id of the Mooncake trace stands for (its README)."""

_HOURS_PER_MONTH = float(HOURS_PER_MONTH)


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    trace, day = data.azure("conv"), PRICE_DAY
    hit, prompt = seen_before(data.mooncake())
    cached = ratio(hit, prompt, unit="share")
    full = price(MODEL, on=day)
    tier = full.tiers[0]
    assert tier.usd_per_mtok_output is not None
    requests = round(len(trace.prompt) * _HOURS_PER_MONTH * 3600 / trace.seconds)
    cache = 1 - Decimal(str(cached.value)) * (1 - tier.cache_read_rate / tier.usd_per_mtok_input)
    batch = price(f"{MODEL}@batch", on=day).usd_per_mtok_input / full.usd_per_mtok_input
    figures = {
        "requests-per-month": Figure(requests, "requests per month"),
        "prompt-tokens": Figure(float(trace.prompt.mean()), "tokens", n=len(trace.prompt)),
        "output-tokens": Figure(float(trace.output.mean()), "tokens", n=len(trace.output)),
        "cached-share": cached,
    }
    remedies = (
        Remedy("cache", "prefixes from a cache", cost_factor=cache),
        Remedy("batch", "batch tariff", cost_factor=batch, applies_to="all"),
    )
    for name, chosen in (("cache", remedies[:1]), ("both", remedies)):
        table = naive_engineered(
            waterfall(
                requests_per_month=requests,
                # The trace has tokens and no text: one byte stands for one token.
                bytes_per_request=Decimal(str(trace.prompt.mean())),
                tokens_per_byte=1,
                usd_per_mtok_input=tier.usd_per_mtok_input,
                output_tokens_per_request=Decimal(str(trace.output.mean())),
                usd_per_mtok_output=tier.usd_per_mtok_output,
                remedies=chosen,
            )
        )
        bill = table.rows[-1]
        naive, engineered = Decimal(bill.naive.value), Decimal(bill.engineered.value)
        figures["usd-naive"] = Figure(float(naive), "USD per month")
        figures[f"usd-{name}"] = Figure(float(engineered), "USD per month")
        figures[f"saved-{name}"] = Figure(float(1 - engineered / naive), "share")
    claimed = 1 - CLAIMED_ENGINEERED / CLAIMED_NAIVE
    return figures | {"saved-claimed": Figure(claimed, "share")}


def seen_before(requests: Iterable[Mapping[str, Any]]) -> tuple[list[int], list[int]]:
    """Tokens of each prompt whose blocks were there before, and all tokens of it.

    The cache forgets nothing, so no real one has more. Ids name a block together with everything
    before it, so the known part is a prefix.
    """
    known: set[int] = set()
    hits, lengths = [], []
    for request in requests:
        n_known = 0
        for block in request["hash_ids"]:
            if block not in known:
                break
            n_known += 1
        known.update(request["hash_ids"])
        length = int(request["input_length"])
        hits.append(min(n_known * _BLOCK_TOKENS, length))
        lengths.append(length)
    return hits, lengths
