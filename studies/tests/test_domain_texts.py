"""Documents are parted so that nothing alike is on two sides, by document and by source."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from jeton import _core
from jeton.corpus import NearDuplicateSettings
from studies.domain_tokenizers.texts import (
    DOMAINS,
    GENERAL,
    HELD_OUT,
    HELD_OUT_ONE_IN,
    LEFT_OUT,
    MAX_MEASURED,
    TRAINED,
    Texts,
    assign_sides,
)

SOURCES = [
    *((domain, s) for domain, of in DOMAINS.items() for s in of),
    *(("", s) for s in GENERAL),
]


def story(seed: int, n_words: int = 200) -> str:
    draw = np.random.Generator(np.random.PCG64(seed))
    return " ".join(f"word{n}" for n in draw.integers(0, 10_000, n_words))


def nearly(text: str, change: str) -> str:
    """Return the text with another last word: a similarity of 0.95 and more."""
    return f"{text.rpartition(' ')[0]} {change}"


def test_documents_of_a_source_are_parted_by_their_text_alone() -> None:
    documents = [story(n) for n in range(600)]
    (sides,) = assign_sides([documents])
    (backwards,) = assign_sides([documents[::-1]])
    assert sides.tolist() == backwards.tolist()[::-1]
    assert set(sides.tolist()) == {TRAINED, HELD_OUT}
    assert 0.5 / HELD_OUT_ONE_IN < (sides == HELD_OUT).mean() < 1.6 / HELD_OUT_ONE_IN


def test_copies_count_once_and_what_is_empty_not_at_all() -> None:
    first, second = assign_sides([[story(1), story(1), ""], [story(1), story(2)]])
    assert (first == LEFT_OUT).tolist() == [False, True, True]
    assert (second == LEFT_OUT).tolist() == [True, False]


def test_nothing_alike_is_on_two_sides() -> None:
    plain = [story(n) for n in range(400)]
    alike = [nearly(text, f"other{n}") for n, text in enumerate(plain)]
    elsewhere = [nearly(text, f"third{n}") for n, text in enumerate(plain[:200])]
    new = [story(n) for n in range(1_000, 1_100)]
    sides = assign_sides([plain + alike, elsewhere + new])
    # What resembles a document of another source is on no side, whatever side that one is on.
    assert (sides[1][:200] == LEFT_OUT).mean() > 0.99
    assert (sides[1][200:] != LEFT_OUT).all()
    # What resembles one of its own source is where that one is, though its own digest says else.
    apart = [assign_sides([[text]])[0][0] for text in alike]
    assert (np.array(apart) != sides[0][:400]).any()
    assert (sides[0][400:] == sides[0][:400]).mean() > 0.99
    # Found alike by the same index: none on two sides.
    documents = [*plain, *alike, *elsewhere, *new]
    codes = np.concatenate([sides[0], 2 + sides[1].astype(np.int64)])
    index = NearDuplicateSettings().new_index()
    found, _ = index.place(_core.TextBatch.from_texts(documents), keep_all=True)
    pairs = [(n, int(like)) for n, like in enumerate(found) if like >= 0]
    assert len(pairs) > 400
    for one, other in pairs:
        if codes[one] not in (LEFT_OUT, 2 + LEFT_OUT):
            assert codes[one] == codes[other]


def write_corpora(folder: Path) -> None:
    """Some documents of every source, each of its own words."""
    records: dict[str, list[dict[str, str]]] = {}
    for number, (_, source) in enumerate(SOURCES):
        kind = source.domains[0]
        for n in range(40):
            records.setdefault(source.corpus, []).append(
                {
                    "text": story(1_000 * number + n, 60),
                    "id": f"{source.ids[0] if source.ids else 'any/'}{n}",
                    "domain": f"{kind}some" if kind.endswith("-") else kind,
                }
            )
    for corpus, found in records.items():
        data = "\n".join(json.dumps(record) for record in found).encode()
        (folder / f"{corpus}.jsonl.zst").write_bytes(_core.compress_zstd(data, level=1))


def test_every_record_goes_to_its_source(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    texts = Texts.read(tmp_path)
    assert list(texts.by_source) == [(domain, source.name) for domain, source in SOURCES]
    for domain, source in SOURCES:
        documents = texts.by_source[domain, source.name]
        assert len(documents) + texts.n_left_out[domain, source.name] == 40 or source.one_in > 1
        assert documents
        trained = texts.trained(domain, source.name)
        held_out = texts.held_out(domain, source.name)
        assert len(trained) + len(held_out) == len(documents)
        assert not set(trained) & set(held_out)
        assert sorted(texts.whole(domain, source.name)) == sorted([*trained, *held_out])
        assert set(texts.trained(domain, source.name, one_in=2)) <= set(trained)


def test_sources_have_names_of_their_own() -> None:
    names = [(domain, source.name) for domain, source in SOURCES]
    assert len(set(names)) == len(names) <= 127  # a side of the index is one of 254 numbers
    assert all(any(source.rotated for source in of) for of in DOMAINS.values())
    assert MAX_MEASURED >= 1_000


def test_a_folder_without_corpora_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="medical"):
        Texts.read(tmp_path)
