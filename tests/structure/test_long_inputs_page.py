"""The runs on long inputs: what they flag, what they write, and that a hang ends."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, cast

import pytest

from jeton import Tokenizer
from jeton.errors import PatternCostError
from scripts.long_inputs.__main__ import PAGE
from scripts.long_inputs.board import PART, Case, flags, render
from scripts.long_inputs.measuring import Measured, measure
from scripts.long_inputs.texts import Text

SMALL = Text("small", lambda n_bytes: "a" * n_bytes)


def case(*seconds: float | None, peak_bytes: int = 0, **fields: Any) -> Case:
    """A case at 1, 4 and 16 MB."""
    sizes = (10**6, 4 * 10**6, 16 * 10**6)
    measured = [Measured("encode", s, peak_bytes, **fields) for s in seconds]
    return Case("v", "k", "t", "encode", dict(zip(sizes, measured, strict=False)))


def test_growth_is_that_between_the_two_largest_sizes() -> None:
    assert case(1.0, 4.0, 16.0).exponent() == pytest.approx(1.0)
    assert case(0.1, 0.4, 6.4).exponent() == pytest.approx(2.0)
    assert case(0.0001, 0.0002, 0.1).exponent() is None, "too short to tell"
    assert case(9.0).exponent() is None


def test_what_is_flagged() -> None:
    assert flags(case(1.0, 4.0, 16.0)) == []
    assert flags(case(0.5, 4.0)) == ["grows with exponent 1.50"]
    assert flags(case(5.0, 21.0)) == ["takes more than 20 s"]
    assert flags(case(None, failed="more than 60 s")) == ["more than 60 s"]
    assert flags(case(0.1, refused="PatternCostError")) == []
    assert flags(case(0.1, refused="MemoryError")) == ["out of memory"]
    assert flags(case(0.1, peak_bytes=201_000_000)) == [
        "needs 201 bytes of memory for a byte of text"
    ]
    assert flags(case(0.1, peak_bytes=201_000_000, made_bytes=11_000_000)) == []


def test_the_page_has_every_tokenizer_and_every_flag() -> None:
    page = PAGE.read_text(encoding="utf-8")
    content = render([case(0.5, 2.0), case(1.0, 16.0)], machine="Here", n_not_loaded=0)
    written = PART.replaced(page, content)
    assert PART.of(written).startswith("Here. 1 tokenizers, 2 cases")
    assert "| v | 2 | 16.00 | 4 MB | encode; t | 2.00 | 0 | 1 |" in written
    assert "- v, t, encode: grows with exponent 2.00 (1 MB: 1.00 s, 4 MB: 16.00 s)" in written
    assert PART.replaced(written, content) == written
    with pytest.raises(ValueError, match="expected one"):
        PART.replaced("no markers", content)


class Fake:
    """Enough of a tokenizer to be measured."""

    def normalize(self, text: str) -> str:
        return text * 3

    def encode_array(self, text: str) -> list[int]:
        return [len(text)]

    def decode(self, ids: list[int]) -> str:
        raise PatternCostError("too much", byte_offset=0)

    def count(self, text: str) -> int:
        return 1

    def encode_with_offsets(self, text: str) -> None:
        while True:
            len(text)


class Crashing(Fake):
    def count(self, text: str) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        return 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
@pytest.mark.parametrize(
    ("fake", "last", "reason"),
    [(Fake(), "offsets", "more than 1 s"), (Crashing(), "count", "signal 15")],
)
def test_an_operation_that_hangs_or_crashes_ends_the_others(
    fake: Fake, last: str, reason: str
) -> None:
    done = measure(cast(Tokenizer, fake), SMALL, 1000, limit_s=1)
    by_name = {measured.operation: measured for measured in done}
    assert by_name["encode"].seconds is not None
    assert by_name["encode"].made_bytes == 3000
    assert by_name["decode"].refused == "PatternCostError"
    assert done[-1].operation == last
    assert done[-1].failed == reason
