"""Scales and ticks of charts, and the shapes that a drawing writes."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jeton.report.axes import Scale, linear_ticks, log_ticks
from jeton.report.numbers import Shown
from jeton.report.svg import Drawing


def test_places_on_a_linear_and_on_a_logarithmic_scale() -> None:
    up = Scale(0, 10, 200, 100)
    assert [up(0), up(2.5), up(10)] == [200, 175, 100]
    octaves = Scale(1, 8, 0, 30, is_log=True)
    assert [round(octaves(value), 9) for value in (1, 2, 4, 8)] == [0, 10, 20, 30]
    assert octaves.holds(8)
    assert not octaves.holds(8.1)


@pytest.mark.parametrize(
    ("low", "high", "most", "is_integer", "ticks"),
    [
        (0, 87, 4, False, [0, 25, 50, 75]),
        (0, 1.02, 5, False, [0, 0.25, 0.5, 0.75, 1.0]),
        (0, 4, 5, True, [0, 1, 2, 3, 4]),
        (0, 2, 5, True, [0, 1, 2]),
        (12_200, 14_400, 4, False, [13_000, 14_000]),
        (3.7, 4.1, 4, False, [3.7, 3.8, 3.9, 4.0, 4.1]),
        (0, 21, 4, True, [0, 10, 20]),
        (-1, 1, 4, False, [-1, -0.5, 0, 0.5, 1]),
    ],
)
def test_linear_ticks(
    low: float, high: float, most: int, *, is_integer: bool, ticks: list[float]
) -> None:
    found = linear_ticks(Scale(low, high, 0, 1), most, is_integer=is_integer)
    assert found == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("low", "high", "most", "ticks"),
    [
        (0.7, 3000, 6, [1, 10, 100, 1000]),
        (1e6, 1e12, 4, [1e6, 1e8, 1e10, 1e12]),
        (1.5, 60, 6, [2, 5, 10, 20, 50]),
        (2.1, 4.5, 6, []),
    ],
)
def test_logarithmic_ticks(low: float, high: float, most: int, ticks: list[float]) -> None:
    assert log_ticks(Scale(low, high, 0, 1, is_log=True), most) == pytest.approx(ticks)


@given(
    st.floats(-1e12, 1e12),
    st.floats(1e-6, 1e12),
    st.integers(2, 8),
)
def test_ticks_are_few_even_and_on_the_scale(low: float, width: float, most: int) -> None:
    assume(width > 1e-6 * abs(low))
    scale = Scale(low, low + width, 0, 100)
    ticks = linear_ticks(scale, most)
    assert 1 <= len(ticks) <= most + 1
    assert all(-0.01 <= scale(tick) <= 100.01 for tick in ticks)


def test_text_is_escaped_and_numbers_carry_their_path() -> None:
    drawing = Drawing("one", width_px=10, height_px=20)
    drawing.text(1, 2, '<b> & "c"')
    drawing.text(
        1, 2, Shown(text="1,234", path="a[0].b", raw="1234.5"), before="p50 ", after=" fit"
    )
    svg = str(drawing.svg('An "alt" <text>'))
    assert svg.startswith('<svg class="chart" id="one-chart" viewBox="0 0 10 20" role="img"')
    assert 'aria-label="An &#34;alt&#34; &lt;text&gt;"' in svg
    assert ">&lt;b&gt; &amp; &#34;c&#34;</text>" in svg
    assert '>p50 <tspan data-path="a[0].b" data-value="1234.5">1,234</tspan> fit</text>' in svg


def test_hatchings_are_defined_once_and_belong_to_their_chart() -> None:
    drawing = Drawing("money", width_px=10, height_px=20)
    for look in (0, 1, 1, 7, 3):
        drawing.bar(0, 0, 5, 5, "t0", look=look)
    svg = str(drawing.svg("x"))
    assert re.findall(r'<pattern id="([^"]+)"', svg) == ["money-hatch1", "money-hatch3"]
    assert svg.count("url(#money-hatch1)") == 3
    assert svg.count("<rect") == 5 + 4


def test_only_colours_of_the_page() -> None:
    with pytest.raises(ValueError, match="no colour of the page: red"):
        Drawing("x", width_px=1, height_px=1).line([(0, 0), (1, 1)], "red")
