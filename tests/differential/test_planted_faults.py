"""The fuzzer finds every fault that published libraries were found to have, and no other."""

from __future__ import annotations

import itertools

import pytest

from tests.differential.harness import run
from tests.differential.planted import FAULTS, Fault, family

pytestmark = pytest.mark.rivals

SEEDS = (1, 2, pytest.param(3, marks=pytest.mark.conformance))


def longest_run(text: str) -> int:
    return max(sum(1 for _ in run) for _, run in itertools.groupby(text))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault, seed: int) -> None:
    outcome = run(family(fault, planted=True), cases=fault.found_within, seed=seed, stop_at=1)
    assert outcome.different, f"not found in {outcome.cases} texts"
    found = outcome.differences[0]
    if fault.in_text:
        assert set(found.text) & set(fault.in_text), ascii(found.text)
    if fault.switch_over:
        assert longest_run(found.text) > fault.switch_over
    else:
        assert len(found.text) <= 8, ascii(found.text)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("pattern", sorted({fault.pattern for fault in FAULTS}))
def test_nothing_is_found_where_nothing_is_planted(pattern: str, seed: int) -> None:
    fault = next(fault for fault in FAULTS if fault.pattern == pattern)
    outcome = run(family(fault, planted=False), cases=6_000, seed=seed)
    assert outcome.cases == 6_000
    assert outcome.equal == outcome.cases, ascii(outcome.differences)
