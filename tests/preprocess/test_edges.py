"""TOON of values that begin like a list item (TOON 2.0 quotes them)."""

from __future__ import annotations

import pytest

from jeton.preprocess.toon import _scalar


@pytest.mark.parametrize(
    ("value", "written"),
    [("-", '"-"'), ("- a", '"- a"'), ("-a", '"-a"'), ("a-", "a-"), ("-5", '"-5"'), ("", '""')],
)
def test_a_leading_dash_is_quoted(value: str, written: str) -> None:
    assert _scalar(value) == written
