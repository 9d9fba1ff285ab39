"""A model's rates by the length of the prompt and the lifetime of a cache are no list price."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jeton
from jeton.auditing.gate import BilledSide, explain, price_cells
from jeton.economics.billed import INPUT_PARTS, KINDS, BilledTable, ModelBilled
from jeton.errors import FormatError

_AT = 1_790_000_000


def _claude(lifetime: str) -> dict[str, Any]:
    usage = {
        "input_tokens": 100,
        "cache_creation_input_tokens": 4000,
        "cache_read_input_tokens": 0,
        "cache_creation": {f"ephemeral_{lifetime}_input_tokens": 4000},
        "output_tokens": 50,
    }
    return {"model": "claude-sonnet-4-5", "timestamp": _AT, "usage": usage}


def _gemini(prompt: int) -> dict[str, Any]:
    usage = {"input_tokens": prompt, "output_tokens": 50}
    return {"model": "gemini-2.5-pro", "timestamp": _AT, "usage": usage}


def _causes(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, float]:
    sides = [BilledSide(prices=price_cells(jeton.ledger(log))) for log in (before, after)]
    found = explain("usd_per_request", *sides)
    assert found is not None
    assert sum(e.value for e in found.effects) == found.after - found.before
    return {effect.cause: float(effect.value) for effect in found.effects}


def test_writes_for_an_hour_are_another_lifetime_and_not_another_list_price() -> None:
    causes = _causes([_claude("5m")] * 3, [_claude("1h")] * 3)
    # 4,000 tokens at 6.00 instead of 3.75 USD a million.
    assert causes == {"cache_lifetime": pytest.approx(4000 * 2.25e-6)}


def test_a_prompt_beyond_a_step_of_the_price_is_told_from_its_length() -> None:
    causes = _causes([_gemini(190_000)] * 2, [_gemini(210_000)] * 2)
    assert causes["price_step"] > 0
    assert "list_price" not in causes
    # Longer prompts at the mean of both rates; the rest of the change is the step.
    assert causes["length"] == pytest.approx(20_000 * (1.25e-6 + 2.5e-6) / 2)


def test_the_cells_of_a_ledger_add_up_to_it() -> None:
    ledger = jeton.ledger([_claude("5m"), _claude("1h"), _gemini(10), _gemini(300_000)])
    cells = price_cells(ledger)
    assert sum(cell.n_requests for cell in cells.values()) == ledger.n_requests
    assert float(sum(sum(cell.usd) for cell in cells.values())) == float(ledger.usd)
    assert {key.cache_lifetime for key in cells} == {"", "1h"}
    assert {key.price_step for key in cells} == {"", "prompts above 200,000 tokens"}


def test_a_count_beyond_64_bits_is_a_damaged_baseline() -> None:
    tokens = np.zeros((len(INPUT_PARTS), len(KINDS)), np.int64)
    tokens[1, 0] = 5
    plain = BilledSide(billed=BilledTable({"m": ModelBilled(1, tokens=tokens)})).to_plain()
    plain["billed"]["by_model"]["m"]["tokens"]["system"]["fresh"] = 10**30
    with pytest.raises(FormatError, match="the bill in the baseline is damaged"):
        BilledSide.from_plain(plain)
