"""Dimensions of use against the list that names them."""

from __future__ import annotations

from genai_prices.data_units import unit_data

from jeton.dimensions import DIMENSIONS, SCALE, holds, plain_name


def test_the_names_are_those_of_the_list() -> None:
    assert DIMENSIONS.keys() == unit_data.keys()
    for name, unit in unit_data.items():
        assert DIMENSIONS[name].attributes == frozenset(unit["dimensions"].items())


def test_a_part_is_in_its_whole() -> None:
    assert DIMENSIONS["cache_write_1h_tokens"].parent == "cache_write_tokens"
    assert DIMENSIONS["input_tokens"].parent is None
    assert holds("input_tokens", "cache_audio_read_tokens")
    assert holds("input_audio_tokens", "cache_audio_read_tokens")
    assert not holds("output_tokens", "input_audio_tokens")
    for name, dimension in DIMENSIONS.items():
        assert dimension.parent is None or holds(dimension.parent, name)


def test_seconds_are_stored_in_milliseconds() -> None:
    assert {name for name, scale in SCALE.items() if scale == 1000} == {
        name for name, d in DIMENSIONS.items() if d.unit == "seconds"
    }


def test_dimensions_have_plain_names() -> None:
    assert plain_name("cache_write_1h_tokens") == "cache write, 1 hour"
    assert plain_name("input_audio_tokens") == "audio input"
    assert plain_name("web_searches") == "web searches"
    assert len({plain_name(name) for name in DIMENSIONS}) == len(DIMENSIONS)
