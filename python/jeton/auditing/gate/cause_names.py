"""Stable names of the causes of a change, beside the names of features (`rewriting.STEPS`)."""

from __future__ import annotations

NUMBER, LENGTH, WORDING, FRAME = "number", "length", "wording", "frame"
"""Causes within text: blocks a request, characters a block, tokens a character, a chat's format."""

DOMAIN_MIX, LANGUAGE_MIX, TOKENIZER = "domain_mix", "language_mix", "tokenizer"
UNLOGGED, DOCUMENTS = "unlogged", "number_of_documents"

MODEL, PROVIDER, REGION, TARIFF = "model", "provider", "region", "tariff"
PRICE_STEP, CACHE_LIFETIME = "price_step", "cache_lifetime"
OF_PRICE = (MODEL, PROVIDER, REGION, TARIFF, PRICE_STEP, CACHE_LIFETIME)
"""Causes of a rate by what decides it, in the order of `side.GatePriceKey`."""

LIST_PRICE, CACHE, FEES, TRAFFIC = "list_price", "cache", "fees", "traffic"

UNRESOLVED, CONTENT = "tokenizer_or_text", "content"
"""A tokenizer that cannot be told from the text; mix, length and wording together."""
