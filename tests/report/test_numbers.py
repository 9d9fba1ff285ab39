"""Numbers are written for people and say where they come from."""

from __future__ import annotations

from decimal import Decimal

import pytest

from jeton.report.numbers import (
    Kind,
    Numbers,
    below,
    kind_of_unit,
    lookup,
    unit_after_number,
    write_number,
)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ("0", "count", "0"),
        ("12843", "count", "12,843"),
        ("569.2", "count", "569.2"),
        ("0.0312", "count", "0.031"),
        ("300.0", "count", "300"),
        ("2.978", "ratio", "2.98"),
        ("0.5", "ratio", "0.50"),
        ("0.264", "share", "26.4%"),
        ("0.00042", "share", "0.042%"),
        ("1", "share", "100%"),
        ("0", "share", "0%"),
        ("0.1236", "change", "+12.4%"),
        ("-0.264", "change", "−26.4%"),
        ("0", "change", "0%"),
        ("161442.345", "usd", "$161,442"),
        ("986.88", "usd", "$986.88"),
        ("2.5", "usd", "$2.50"),
        ("0.0044231", "usd", "$0.00442"),
        ("0", "usd", "$0"),
        ("0.92", "usd", "$0.92"),
        ("0.07", "usd", "$0.07"),
        ("-12.5", "usd", "−$12.50"),
        ("131072", "bytes", "131\u00a0kB"),
        ("512", "bytes", "512\u00a0B"),
        ("16060522496", "bytes", "16.1\u00a0GB"),
        ("8.54e12", "flops", "8.54\u00a0TFLOP"),
        ("0.0173", "seconds", "17.3\u00a0ms"),
        ("90", "seconds", "90.0\u00a0s"),
        ("0", "seconds", "0\u00a0ns"),
        ("3041666.667", "count", "3,041,667"),
        ("0.33574", "rate", "0.3357"),
        ("1.0214", "rate", "1.021"),
        ("13754.564", "cents", "$13,754.56"),
        ("0.004", "cents", "$0.00"),
        ("-187.35", "cents_change", "−$187.35"),
        ("2.62", "cents_change", "+$2.62"),
        ("-1142.48", "usd_change", "−$1,142"),
        ("0.9996", "share", "99.96%"),
        ("0.9999999", "share", "99.99999%"),
        ("1.0004", "share", "100.0%"),
    ],
)
def test_written(value: str, kind: Kind, text: str) -> None:
    assert write_number(Decimal(value), kind) == text


@pytest.mark.parametrize(
    ("unit", "kind"),
    [
        ("USD per day", "usd"),
        ("bytes", "bytes"),
        ("bytes per request", "bytes"),
        ("bytes per token", "ratio"),
        ("tokens on the audited text", "count"),
        ("FLOPs", "flops"),
        ("seconds", "seconds"),
        ("share of tokens", "share"),
        ("", "count"),
    ],
)
def test_kinds_follow_units(unit: str, kind: Kind) -> None:
    assert kind_of_unit(unit) == kind


@pytest.mark.parametrize(
    ("unit", "rest"),
    [
        ("bytes too many", "too many"),
        ("share of positions", "of positions"),
        ("USD per day", "per day"),
        ("bytes per token", "bytes per token"),
        ("documents", "documents"),
    ],
)
def test_units_are_not_said_twice(unit: str, rest: str) -> None:
    assert unit_after_number(unit) == rest


def test_lookup_and_relations() -> None:
    numbers = Numbers({"a": [{"b": 3}, {"b": 4, "c": None}], "d": "12.0"})
    assert lookup(numbers.data, "a[1].b") == 4
    odd = {"a": {'.["x"]\\ ': [7]}}
    path = below(below("a", '.["x"]\\ '), 0)
    assert lookup(odd, path) == 7
    assert below("a", "n_tokens") == "a.n_tokens"
    change = numbers.change("a[0].b", "a[1].b")
    assert change is not None
    assert (change.text, change.path, change.versus) == ("−25%", "a[0].b", "a[1].b")
    share = numbers.share("a[0].b", "d")
    assert share is not None
    assert (share.text, share.raw, share.share_of) == ("25%", "3", "d")
    assert numbers.show("a[1].c", "count") is None


def test_a_number_less_another_so_many_times() -> None:
    numbers = Numbers({"naive": "100.50", "engineered": "80.25", "none": None})
    yearly = numbers.scaled("naive", "usd", minus="engineered", times=12)
    assert yearly is not None
    assert (yearly.text, yearly.raw, yearly.minus, yearly.times) == (
        "$243.00",
        "100.50",
        "engineered",
        12,
    )
    share = numbers.share("naive", "naive", minus="engineered")
    assert share is not None
    assert share.text == "20.1%"
    assert numbers.scaled("none", "usd") is None
    assert numbers.scaled("naive", "usd", minus="none") is None
