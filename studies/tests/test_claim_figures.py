"""Figures, how they are written, compared and kept; the parts of measuring that need no data."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pytest

from studies.claims.figures import (
    Figure,
    Figures,
    day_figure,
    differences,
    mean,
    ratio,
    saving,
    share,
)
from studies.claims.measuring.cleaning import CLEANINGS
from studies.claims.measuring.lengths import BATCH, PADDED_TO, padding
from studies.claims.measuring.pipeline import seen_before
from studies.claims.writing import Writer


def test_a_saving_is_the_rest_of_a_ratio() -> None:
    new, old = [1, 2, 3, 2], [2, 4, 5, 3]
    left, gone = ratio(new, old), saving(new, old)
    assert gone.value == 1 - 8 / 14
    assert left.low is not None
    assert gone.high == 1 - left.low
    assert gone.low is not None
    assert gone.high is not None
    assert gone.low < gone.value < gone.high
    assert gone.n == 4
    alone = saving([1], [2])
    assert (alone.value, alone.low, alone.n) == (0.5, None, 1)


def test_means_and_shares() -> None:
    assert mean([1, 2, 6], unit="tokens").value == 3
    assert share([True, False, False, False]).value == 0.25


def test_files_keep_figures_as_they_are_compared(tmp_path: Path) -> None:
    figures = {
        "a.b": Figure(1 / 3, "share", 0.25, 0.5, 17),
        "c": Figure(float(np.int64(1234567)), "tokens"),
        "d": Figure(0, "findings"),
    }
    Figures.write(tmp_path, "some", figures, "Something")
    read = Figures.read(tmp_path)
    assert read["some.a.b"] == Figure(0.333333, "share", 0.25, 0.5, 17)
    assert read["some.c"] == Figure(1234567, "tokens")
    assert differences(read.below("some"), figures) == []
    assert "python -m studies.claims --only some" in (tmp_path / "some.json").read_text()
    changed = {**figures, "c": Figure(1234568, "tokens"), "e": Figure(1, "x")}
    del changed["d"]
    found = differences(read.below("some"), changed)
    assert [line.split(":")[0] for line in found] == ["c", "d", "e"]
    assert differences({"a": Figure(0.333333, "x")}, {"a": Figure(0.3334, "x")})
    assert differences({"a": Figure(1, "x", 0, 2)}, {"a": Figure(1, "x")})


def test_what_is_no_number_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="finite"):
        Figures.write(tmp_path, "some", {"a": Figure(float("nan"), "share")}, "Something")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old.json").write_text('{"schema": "other/1", "figures": {}}')
    with pytest.raises(ValueError, match="schema"):
        Figures.read(tmp_path)


def test_how_figures_are_written() -> None:
    writer = Writer(
        Figures(
            {
                "s": Figure(0.12345, "share", 0.1, 0.15, 1200),
                "z": Figure(-0.00001, "share", -0.0001, 0.00001, 3),
                "x": Figure(2.741, "ratio"),
                "u": Figure(1460, "USD"),
                "c": Figure(2.5, "USD"),
                "d": day_figure(date(2026, 3, 9)),
            }
        )
    )
    assert writer.pct("s") == "12.3%"
    assert writer.pct_i("s") == "12.3% (10.0 to 15.0)"
    assert writer.signed_i("s") == "+12.3% (+10.0 to +15.0)"
    assert writer.pct_i("z") == "0.0% (0.0 to 0.0)"
    assert writer.n("s") == "1,200"
    assert writer.day("d") == "2026-03-09"
    assert (writer.signed("s"), writer.signed("z")) == ("+12%", "0%")
    assert (writer.x("x"), writer.x_i("x", 1)) == ("2.74x", "2.7x")
    assert (writer.usd("u"), writer.usd("c")) == ("$1,460", "$2.50")
    with pytest.raises(KeyError, match="no figure 'nothing'"):
        writer.pct("nothing")
    with pytest.raises(ValueError, match="number of documents"):
        writer.n("x")


def test_padding_of_lengths_that_are_known() -> None:
    # A batch of the limit and of half of it: a quarter of the positions is padding either way.
    lengths = np.array([PADDED_TO] * (BATCH // 2) + [PADDED_TO // 2] * (BATCH // 2))
    found = padding(lengths)
    assert found["static-waste"].value == found["dynamic-waste"].value == 0.25
    assert found["dynamic-saves"].value == 0
    # All of half the limit: nothing is left to waste.
    found = padding(np.full(2 * BATCH, PADDED_TO // 2))
    assert (found["static-waste"].value, found["dynamic-waste"].value) == (0.5, 0)
    assert found["dynamic-saves"].value == found["sorted-saves"].value == 0.5
    # What is longer is cut.
    found = padding(np.array([3 * PADDED_TO, PADDED_TO]))
    assert found["truncated"].value == 0.5
    assert found["static-waste"].value == 0


def test_a_cache_knows_prefixes_only() -> None:
    requests = [
        {"input_length": 1000, "hash_ids": [1, 2]},
        {"input_length": 1100, "hash_ids": [1, 2, 3]},
        {"input_length": 1200, "hash_ids": [9, 2, 3]},
        {"input_length": 900, "hash_ids": [1, 2]},
    ]
    assert seen_before(requests) == ([0, 1024, 0, 900], [1000, 1100, 1200, 900])


def test_clean_ups_do_what_they_are_called() -> None:
    text = "if a:\n\tb  =  '<x>'\r\n"
    assert CLEANINGS["control characters deleted"](text) == "if a:b  =  '<x>'"
    assert CLEANINGS["joined on white space"](text) == "if a: b = '<x>'"
    assert CLEANINGS["all of them"](text) == "if a: b = ' '"
