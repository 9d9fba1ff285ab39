"""Values of tokenizers are made once and go with their tokenizer."""

from __future__ import annotations

import gc

import jeton
from jeton.registry.resolving import PerTokenizer


def test_a_value_is_made_once_for_each_object() -> None:
    sizes = PerTokenizer[int]()
    made: list[str] = []

    def get(tokenizer: jeton.Tokenizer) -> int:
        def make() -> int:
            made.append(tokenizer.name or "")
            return tokenizer.vocab_size + len(made)

        return sizes.get(tokenizer, make)

    one = jeton.load("jeton-general-32k")
    other = one.with_name("other")
    assert [get(one), get(other), get(one), get(other)] == [32_001, 32_002] * 2
    assert made == [one.name, "other"]
    del other
    gc.collect()
    # A new object may have the place of the old one in memory, but not its value.
    assert [get(one.with_name(f"{n}")) for n in range(3)] == [32_003, 32_004, 32_005]
