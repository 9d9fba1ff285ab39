"""Hard bounds of counts: never broken by any tokenizer, nor their constants by any code point."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton import Tokenizer
from jeton._core import from_hf_json
from jeton.edge_texts import edge_texts
from jeton.errors import InvalidTextError, JetonError
from jeton.estimating import growth
from jeton.estimating.bounds import TokenBounds, count_limits
from tests.differential import grammar

ARGUMENTS: tuple[dict[str, Any], ...] = ({}, {"add_special_tokens": True}, {"allow_special": "all"})
RUNS = [
    char * n
    for char in (
        "a",
        " ",
        "\n",
        "\u00e9",
        "\u0390",
        "\u6f22",
        "\ud55c",
        "\ufdfa",
        "\u2581",
        "\u0130",
    )
    for n in (1, 2, 40)
]


@cache
def general() -> Tokenizer:
    """A bundled tokenizer."""
    return jeton.load("jeton-general-32k")


def keeps(tok: Tokenizer, text: str) -> bool:
    """True if the bounds of a text and of its bytes hold for each way to count."""
    for arguments in ARGUMENTS:
        try:
            count = tok.count(text, **arguments)
        except JetonError:
            continue
        for form in (text, text.encode()):
            bounds = tok.bounds(form, **arguments)
            if not bounds.lower_tokens <= count <= bounds.upper_tokens:
                return False
    return True


class TestNeverBroken:
    @pytest.mark.parametrize("seed", [1, 3, 5, 7, 88, 103, 170, 182])
    def test_random_tokenizers(self, seed: int) -> None:
        check_random(seed, 120)

    @pytest.mark.conformance
    @pytest.mark.parametrize("seed", range(200, 500))
    def test_many_random_tokenizers(self, seed: int) -> None:
        check_random(seed, 600)

    @settings(max_examples=60, deadline=None)
    @given(st.text(max_size=60))
    def test_bundled(self, text: str) -> None:
        if any("\ud800" <= char <= "\udfff" for char in text):
            return
        assert keeps(general(), text)


def check_random(seed: int, n: int) -> None:
    """Any mixture of parts keeps its bounds on texts that are known to be hard."""
    try:
        tok = from_hf_json(json.dumps(grammar.tokenizer_json(seed)).encode())
    except JetonError:
        return
    texts = itertools.chain(RUNS, itertools.islice(edge_texts(seed=seed, tokenizers=[tok]), n))
    broken = [text for text in texts if not keeps(tok, text)]
    assert not broken, (seed, broken[:3], count_limits(tok))


class TestLength:
    def test_ascii_and_bytes_are_counted_exactly(self) -> None:
        tok = general()
        assert tok.bounds("x" * 640) == TokenBounds(10, 640)
        assert tok.bounds(b"x" * 640) == TokenBounds(10, 640)
        assert tok.bounds(memoryview(b"x" * 640)) == TokenBounds(10, 640)
        assert tok.bounds("") == TokenBounds(0, 0)

    def test_other_text_has_one_to_four_bytes_a_character(self) -> None:
        tok = general()
        assert tok.bounds("\u00e9" * 127) == TokenBounds(2, 508)

    def test_template_is_added(self) -> None:
        tok = general().with_template("<|endoftext|> $A <|endoftext|>")
        assert tok.bounds("x" * 65) == TokenBounds(2, 65)
        assert tok.bounds("x" * 65, add_special_tokens=True) == TokenBounds(4, 67)

    def test_no_text_is_read(self) -> None:
        # Bytes that are no UTF-8 are an error of the count, not of their number.
        tok = general()
        assert tok.bounds(b"\xff\xff").upper_tokens == 2
        with pytest.raises(InvalidTextError):
            tok.count(b"\xff\xff")


def normalizer(step: dict[str, object]) -> Tokenizer:
    """A tokenizer of one step."""
    model = {"type": "WordLevel", "vocab": {"<unk>": 0}, "unk_token": "<unk>"}
    file = {"version": "1.0", "added_tokens": [], "normalizer": step, "model": model}
    return from_hf_json(json.dumps(file).encode())


STEPS = [
    *(({"type": form.upper()}, growth._FORMS[form]) for form in growth._FORMS),
    ({"type": "Lowercase"}, growth._LOWERCASE),
    (
        {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": True,
            "lowercase": True,
        },
        growth._BERT,
    ),
    (
        {
            "type": "BertNormalizer",
            "clean_text": False,
            "handle_chinese_chars": True,
            "strip_accents": False,
            "lowercase": True,
        },
        growth._BERT,
    ),
    ({"type": "StripAccents"}, growth._NONE),
    ({"type": "Nmt"}, growth._NONE),
]


@pytest.mark.parametrize(
    ("step", "rate"),
    STEPS,
    ids=lambda part: str(part.get("type")) if isinstance(part, dict) else "",
)
class TestConstants:
    def test_sampled_code_points(self, step: dict[str, object], rate: growth._Rate) -> None:
        special = [0x130, 0x390, 0x1F82, 0x212A, 0xFDFA, 0x1D160, 0xAC01, 0x4E00, 0x2F800]
        check_growth(step, rate, [*range(1, sys.maxunicode, 997), *special])

    @pytest.mark.conformance
    def test_all_code_points(self, step: dict[str, object], rate: growth._Rate) -> None:
        check_growth(step, rate, range(1, sys.maxunicode + 1))


def check_growth(step: dict[str, object], rate: growth._Rate, points: Iterable[int]) -> None:
    """No code point grows, or shrinks, by more than the step's constants say."""
    tok = normalizer(step)
    shrink = growth._LOWER_SHRINK if step["type"] == "Lowercase" else growth._FORM_SHRINK
    for point in points:
        if 0xD800 <= point <= 0xDFFF:
            continue
        char = chr(point)
        found = tok.normalize(char)
        n_bytes, n_found = len(char.encode()), len(found.encode())
        assert n_found <= rate.bytes_per_byte * n_bytes, hex(point)
        assert len(found) <= rate.chars_per_byte * n_bytes, hex(point)
        assert len(found) <= rate.chars_per_char, hex(point)
        if step["type"] in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase"):
            assert n_bytes <= shrink * n_found, hex(point)
