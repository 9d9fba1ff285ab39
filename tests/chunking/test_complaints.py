"""Faults that users of other chunkers told of, one test each, where a case file cannot say it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jeton
from jeton.chunking import chunk_text, load_static_embedder
from tests.core import makers

TOKENIZER = jeton.load("jeton-general-32k")
TEXT = "The ferry left at noon. It was late, as ever. Nobody minded the rain. " * 12


def test_special_tokens_are_part_of_the_budget() -> None:
    around = TOKENIZER.with_template("<|endoftext|> $A <|endoftext|>")
    with_both = chunk_text(TEXT, tokenizer=around, max_tokens=30)
    assert max(len(around.encode(c.text, add_special_tokens=True)) for c in with_both.chunks) <= 30
    without = chunk_text(TEXT, tokenizer=around, max_tokens=30, add_special_tokens=False)
    assert max(part.n_tokens for part in without.chunks) <= 30
    assert len(without.chunks) <= len(with_both.chunks)


def test_the_budget_is_counted_by_the_tokenizer_that_was_named() -> None:
    coarse = chunk_text(TEXT, tokenizer=TOKENIZER, max_tokens=40)
    fine_tokenizer = makers.tiny("tiny-gpt2")
    fine = chunk_text(TEXT, tokenizer=fine_tokenizer, max_tokens=40)
    assert max(fine_tokenizer.count(part.text) for part in coarse.chunks) > 40
    assert max(fine_tokenizer.count(part.text) for part in fine.chunks) <= 40


def test_a_prefix_that_leaves_no_room_is_refused_with_its_tokens() -> None:
    with pytest.raises(jeton.UsageError, match="take 60 of them; nothing is left"):
        chunk_text(TEXT, tokenizer=TOKENIZER, max_tokens=50, prefix="meta" + " meta" * 59)


def test_a_long_text_without_boundaries_keeps_the_budget_of_a_large_chunk() -> None:
    """A limit of 2,048 is one, whatever the text has instead of sentences."""
    found = chunk_text("x7Q/" * 40_000, tokenizer=TOKENIZER, max_tokens=2_048)
    assert max(part.n_tokens for part in found.chunks) <= 2_048
    assert "".join(part.text for part in found.chunks) == "x7Q/" * 40_000


def test_a_file_that_vanishes_is_named(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    for path in (first, second):
        path.write_text(TEXT, encoding="utf-8")
    found = jeton.chunk([first, second], tokenizer=TOKENIZER, max_tokens=40)
    assert next(found).source.endswith("a.txt")
    second.unlink()
    with pytest.raises((OSError, jeton.JetonError), match=r"b\.txt"):
        list(found)


def test_a_model2vec_folder_tells_subjects_apart(tmp_path: Path) -> None:
    """Tokens of two subjects have vectors of their own."""
    tokenizer = TOKENIZER
    tokenizer.save(tmp_path / "tokenizer.json")
    vectors = np.zeros((tokenizer.vocab_size, 2), dtype=np.float32)
    for column, words in enumerate((" cat cats kitten", " ship ships harbour")):
        vectors[tokenizer.encode(words), column] = 1.0
    body = vectors.tobytes()
    header = json.dumps(
        {
            "__metadata__": {"format": "pt"},
            "embeddings": {
                "dtype": "F32",
                "shape": list(vectors.shape),
                "data_offsets": [0, len(body)],
            },
        }
    ).encode()
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(len(header).to_bytes(8, "little") + header + body)
    embed = load_static_embedder(tmp_path)
    rows = embed([" cats", " ships", ""])
    assert rows.shape == (3, 2)
    assert not rows[2].any()
    text = "A cat sleeps. Two cats eat. One kitten runs. A ship sails. Two ships sink. One harbour."
    found = chunk_text(text, tokenizer=tokenizer, max_tokens=18, by="semantic", embed=embed)
    assert text.index("A ship") in {part.start for part in found.chunks}
    weights.write_bytes(b"no weights at all")
    with pytest.raises(jeton.FormatError, match="no table of vectors"):
        load_static_embedder(tmp_path)


_ONE_LINE = """
import resource, sys
import jeton
import jeton.chunking

tokenizer = jeton.load("jeton-general-32k")
text = "the clerk copied the ledger and " * (int(sys.argv[1]) // 32)
jeton.chunking.chunk_text(text[:100_000], tokenizer=tokenizer, max_tokens=200)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = jeton.chunking.chunk_text(text, tokenizer=tokenizer, max_tokens=200, language="en")
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(found.chunks), int(found.chunks.n_tokens.max()), (after - before) * 1024)
"""


def _one_line(n_bytes: int) -> tuple[int, int, int]:
    done = subprocess.run(
        [sys.executable, "-c", _ONE_LINE, str(n_bytes)], capture_output=True, text=True, check=True
    )
    n_chunks, largest, more = map(int, done.stdout.split())
    return n_chunks, largest, more


def test_a_long_line_takes_little_beside_itself() -> None:
    """Windows are planned one by one, so memory does not grow with the line."""
    n_chunks, largest, more = _one_line(12 << 20)
    assert n_chunks > 1_000
    assert largest <= 200
    assert more < 24 << 20


@pytest.mark.conformance
@pytest.mark.timeout(1800)
def test_a_line_of_500_megabytes() -> None:
    n_chunks, largest, more = _one_line(500_000_000)
    assert n_chunks > 50_000
    assert largest <= 200
    assert more < 200 << 20
