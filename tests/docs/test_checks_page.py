"""The page of the checks: it has each check once."""

from __future__ import annotations

import re

from jeton.auditing.checks import CHECKS
from jeton.catalog.caches import CACHE_PROVIDERS
from tests.docs.pages import text_of

PAGE = text_of("checks")
CATALOGUE = PAGE.partition("## Catalogue")[2].partition("## Prompt caches")[0]


def test_every_check_stands_in_the_catalogue_once() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", CATALOGUE, flags=re.MULTILINE)
    assert sorted(rows) == sorted(CHECKS)
    assert len(CHECKS) >= 25


def test_the_table_of_cache_rules_is_that_of_the_code() -> None:
    table = PAGE.partition("## Prompt caches")[2].partition("## False alarms")[0]
    rules = [rule for own in CACHE_PROVIDERS for row in own.rows for rule in row.choices]
    for rule in rules:
        assert f"{rule.min_tokens:,}" in table
        assert f"{rule.ttl_seconds / 60:.0f} minutes" in table


def test_the_table_of_false_alarms_has_every_check_that_text_alone_can_raise() -> None:
    table = PAGE.partition("<!-- false alarms: begin")[2].partition("<!-- false alarms: end")[0]
    rates = re.findall(r"^\| `([a-z0-9-]+)` \|.*\| (\d+) of (\d+) \(", table, flags=re.MULTILINE)
    assert len(rates) >= 25
    for check, n_false, n_halves in rates:
        assert check in CHECKS
        # More than one in twenty would make a finding worth little.
        assert int(n_false) / int(n_halves) <= 0.05, check
