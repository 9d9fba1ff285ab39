"""Model inputs equal `transformers` and `tokenizers`: over a grid of settings, and by chance.

What is refused here and not there, each asserted below:

- a ``max_length`` without room for the template: there, nothing is cut then;
- windows that share all their tokens: there, the program panics;
- windows of a text of which nothing is kept: there, the whole text becomes one row, longer than
  ``max_length``;
- rows longer than the columns that were asked for: there, lists of unequal length.

What differs: the token types in windows after the first. They are the template's here; there, those
of the texts are 0 and 1, whatever the template says (`RobertaProcessing` with its tokens apart).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import ModelInputs
from jeton._core import from_hf_json
from tests.core import hf_makers
from tests.core.hf_makers import Both

TEXTS = (
    "",
    "A short one.",
    "The quick brown fox jumps over the lazy dog, doesn't it?",
    "  two  spaces, na\u00efve caf\u00e9 \u4f60\u597d\U0001f600",
    "one",
)
SECONDS = (
    "Second text of the first pair.",
    "",
    "  So it does ",
    "one",
    "[SEP] </s> <|endoftext|> and what comes behind them is just as much of a text",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """One place of the grid."""

    pairs: bool = False
    add_special_tokens: bool = True
    padding: str | bool = False
    truncation: str | bool = False
    max_length: int | None = None
    stride: int = 0
    overflow: bool = False
    pad_to_multiple_of: int | None = None
    padding_side: str = "right"
    truncation_side: str = "right"


def cuts() -> Iterator[dict[str, Any]]:
    yield {}
    strategies = ("longest_first", "only_first", "only_second")
    sides = ("right", "left")
    for strategy, side, max_length in itertools.product(strategies, sides, (0, 3, 8, 9, 16, 24)):
        given = {"truncation": strategy, "truncation_side": side, "max_length": max_length}
        yield given
        for stride in (0, 1, 3):
            yield {**given, "overflow": True, "stride": stride}


def fills() -> Iterator[dict[str, Any]]:
    yield {}
    for padding, side, multiple in itertools.product(
        ("longest", "max_length"), ("right", "left"), (None, 8)
    ):
        yield {"padding": padding, "padding_side": side, "pad_to_multiple_of": multiple}


def grid() -> list[Settings]:
    found = []
    for pairs, special, cut, fill in itertools.product(
        (False, True), (True, False), cuts(), fills()
    ):
        wanted = {"pairs": pairs, "add_special_tokens": special, **cut, **fill}
        if fill.get("padding") == "max_length" and "max_length" not in cut:
            wanted["max_length"] = 64
        found.append(Settings(**wanted))
    return found


def theirs(both: Both, settings: Settings, texts: list[str], seconds: list[str]) -> Any:
    tokenizer = both.theirs
    tokenizer.truncation_side = settings.truncation_side
    return tokenizer(
        texts,
        seconds if settings.pairs else None,
        add_special_tokens=settings.add_special_tokens,
        padding=settings.padding,
        truncation=settings.truncation,
        max_length=settings.max_length,
        # Without windows a stride changes nothing, except that it may make the reference panic.
        stride=settings.stride if settings.overflow else 0,
        pad_to_multiple_of=settings.pad_to_multiple_of,
        padding_side=settings.padding_side,
        return_overflowing_tokens=settings.overflow,
        return_token_type_ids=True,
        return_attention_mask=True,
        return_special_tokens_mask=True,
        return_offsets_mapping=True,
    )


def ours(
    both: Both, settings: Settings, texts: list[str], seconds: list[str], *, offsets: bool = True
) -> ModelInputs:
    options = asdict(settings)
    pairs = options.pop("pairs")
    return both.ours.model_inputs(
        texts,
        seconds if pairs else None,
        allow_special="all",
        pad_token=both.pad_token,
        offsets=offsets,
        **options,
    )


def rows(inputs: ModelInputs, array: Any) -> list[Any]:
    if inputs.is_padded:
        found: list[Any] = array.tolist()
        return found
    bounds = inputs.row_offsets.tolist()
    return [array[start:end].tolist() for start, end in itertools.pairwise(bounds)]


def check(both: Both, settings: Settings, texts: list[str], seconds: list[str]) -> str:
    """Compare, and say what became of it."""
    room = None
    if settings.truncation:
        assert settings.max_length is not None
        n_special = both.theirs.num_special_tokens_to_add(pair=settings.pairs)
        room = settings.max_length - (n_special if settings.add_special_tokens else 0)
        if room < 0 or (settings.overflow and settings.stride >= room):
            with pytest.raises(jeton.UsageError, match="max_length"):
                ours(both, settings, texts, seconds)
            return "refused: no room"
    try:
        expected = theirs(both, settings, texts, seconds)
    except BaseException as error:
        if not isinstance(error, Exception) and "Panic" not in type(error).__name__:
            raise
        if not settings.add_special_tokens and "tokenizer stride set to" in str(error):
            # The template's tokens are counted there although they are not added.
            return "refused by them"
        with pytest.raises(jeton.UsageError):
            ours(both, settings, texts, seconds)
        return "refused by both"
    ids = expected["input_ids"]
    longest = max(map(len, ids))
    if settings.padding and longest > min(map(len, ids)):
        with pytest.raises(jeton.UsageError, match=r"are to have|expected more room"):
            ours(both, settings, texts, seconds)
        return "refused: longer than the columns"
    if settings.overflow and room is not None and not settings.padding and longest > room:
        assert settings.max_length is not None
        if longest > settings.max_length:
            with pytest.raises(jeton.UsageError, match="expected more room"):
                ours(both, settings, texts, seconds)
            return "refused: nothing kept"
    inputs = ours(both, settings, texts, seconds)
    assert rows(inputs, inputs.input_ids) == ids
    assert rows(inputs, inputs.attention_mask) == expected["attention_mask"]
    assert rows(inputs, inputs.special_tokens_mask.astype(int)) == expected["special_tokens_mask"]
    places = np.stack([inputs.starts, inputs.ends], axis=-1)
    assert rows(inputs, places) == [
        [list(place) for place in row] for row in expected["offset_mapping"]
    ]
    samples = expected.get("overflow_to_sample_mapping", list(range(len(texts))))
    assert inputs.overflow_to_sample.tolist() == samples
    sequences = rows(inputs, inputs.sequence_ids)
    for row, found in enumerate(sequences):
        known = [-1 if which is None else which for which in expected.sequence_ids(row)]
        assert found == known
    is_exact = both.types.is_exact(add_special_tokens=settings.add_special_tokens)
    check_types(inputs, expected["token_type_ids"], sequences, is_exact=is_exact)
    return "equal"


def check_types(
    inputs: ModelInputs, expected: list[list[int]], sequences: list[list[int]], *, is_exact: bool
) -> None:
    samples = inputs.overflow_to_sample.tolist()
    first: dict[int, dict[int, int]] = {}
    for row, (found, known) in enumerate(
        zip(rows(inputs, inputs.token_type_ids), expected, strict=True)
    ):
        of_text = dict(zip(sequences[row], found, strict=True))
        if is_exact or samples[row] not in first:
            assert found == known
        # Of whatever row, the tokens of a text have the type that they have in the first.
        for which, type_id in of_text.items():
            assert which == -1 or first.get(samples[row], of_text).get(which, type_id) == type_id
        first.setdefault(samples[row], of_text)


@pytest.mark.parametrize("kind", hf_makers.KINDS)
def test_a_part_of_the_grid(kind: str) -> None:
    """Every 23rd place, others for each tokenizer; `make conformance` runs all."""
    both = hf_makers.small(kind)
    places = grid()[hf_makers.KINDS.index(kind) :: 23]
    outcomes = [check(both, settings, list(TEXTS), list(SECONDS)) for settings in places]
    assert outcomes.count("equal") > len(places) / 4


@pytest.mark.conformance
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", hf_makers.KINDS)
def test_the_grid(kind: str) -> None:
    both = hf_makers.small(kind)
    outcomes = {check(both, settings, list(TEXTS), list(SECONDS)) for settings in grid()}
    assert {"equal", "refused: no room", "refused by both"} <= outcomes


@pytest.mark.parametrize("name", hf_makers.PUBLISHED)
def test_a_part_of_the_grid_with_published_tokenizers(name: str, shared: Path) -> None:
    both = hf_makers.published(shared, name)
    first = list(hf_makers.PUBLISHED).index(name)
    for settings in grid()[first::193]:
        check(both, settings, list(TEXTS), list(SECONDS))


@pytest.mark.conformance
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", hf_makers.PUBLISHED)
def test_the_grid_with_published_tokenizers(name: str, shared: Path) -> None:
    both = hf_makers.published(shared, name)
    for settings in grid():
        check(both, settings, list(TEXTS), list(SECONDS))


TEXT = st.text(
    st.one_of(
        st.sampled_from("ab e\u00e9 \n,.\u4f60"), st.characters(codec="utf-8", max_codepoint=0x2FFF)
    ),
    max_size=40,
)


@given(
    kind=st.sampled_from(hf_makers.KINDS),
    texts=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=3),
    settings=st.sampled_from(grid()),
)
def test_texts_by_chance(kind: str, texts: list[tuple[str, str]], settings: Settings) -> None:
    both = hf_makers.small(kind)
    check(both, settings, [first for first, _ in texts], [second for _, second in texts])


@given(
    kind=st.sampled_from(hf_makers.KINDS),
    texts=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=3),
    settings=st.sampled_from(grid()),
)
def test_without_places_the_ids_are_the_same(
    kind: str, texts: list[tuple[str, str]], settings: Settings
) -> None:
    both = hf_makers.small(kind)
    firsts, seconds = [first for first, _ in texts], [second for _, second in texts]
    try:
        with_places = ours(both, settings, firsts, seconds)
    except jeton.UsageError:
        with pytest.raises(jeton.UsageError):
            ours(both, settings, firsts, seconds, offsets=False)
        return
    without = ours(both, settings, firsts, seconds, offsets=False)
    assert without.input_ids.tolist() == with_places.input_ids.tolist()
    assert without.row_offsets.tolist() == with_places.row_offsets.tolist()


@pytest.mark.parametrize("kind", hf_makers.KINDS)
@pytest.mark.parametrize("direction", ["left", "right"])
def test_settings_of_the_file(kind: str, direction: str) -> None:
    """`tokenizers` applies what its file says; ``"file"`` does, too."""
    both = hf_makers.small(kind)
    made = type(both.theirs.backend_tokenizer).from_str(both.theirs.backend_tokenizer.to_str())
    made.enable_truncation(15, stride=2, strategy="longest_first", direction=direction)
    pad_id = made.token_to_id(both.pad_token)
    made.enable_padding(
        direction=direction, pad_id=pad_id, pad_token=both.pad_token, pad_to_multiple_of=4
    )
    file = from_hf_json(made.to_str().encode())
    for seconds in (None, list(SECONDS)):
        inputs: Any = list(TEXTS) if seconds is None else list(zip(TEXTS, SECONDS, strict=True))
        expected = made.encode_batch(inputs)
        found = file.model_inputs(
            list(TEXTS),
            seconds,
            padding="file",
            truncation="file",
            allow_special="all",
            dtype="int32",
        )
        assert found.input_ids.dtype == np.int32
        assert found.input_ids.tolist() == [encoding.ids for encoding in expected]
        assert found.attention_mask.tolist() == [encoding.attention_mask for encoding in expected]
        assert found.token_type_ids.tolist() == [encoding.type_ids for encoding in expected]
