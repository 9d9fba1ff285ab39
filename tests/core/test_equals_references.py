"""Ids equal those of tiktoken and tokenizers on generated hostile texts."""

from __future__ import annotations

import base64
import functools
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import tiktoken
from tokenizers import Tokenizer as HfTokenizer

import jeton
from jeton import Tokenizer, _core
from tests.core import makers
from tests.core.texts import assert_equal_ids, from_vocabulary, glued

pytestmark = pytest.mark.rivals

N_TEXTS = 20_000 if makers.THOROUGH else 500
"""Texts of each of two kinds for each vocabulary and each way to treat special tokens."""

TIKTOKEN_SETS = ("cl100k_base", "llama3", "llama4", "o200k_base", "p50k_base", "r50k_base")
HF_FILES = (
    "deepseek-coder.recon",
    "deepseek_v3.recon",
    "falcon",
    "focus_de_bpe_50k",
    "gpt2",
    "gpt_neox_20b",
    "modernbert",
    "phi-2",
    "roberta-base",
    "starcoder.recon",
)


def hostile(tokenizer: Tokenizer, seed: int) -> list[str]:
    rng = random.Random(seed)
    added = [f"a{token.content} b" for token in tokenizer.added_tokens]
    return added + glued(rng, N_TEXTS) + from_vocabulary(rng, tokenizer, N_TEXTS)


def compare(
    tokenizer: Tokenizer,
    seed: int,
    ours: Callable[[str], list[int]],
    theirs: Callable[[str], list[int]],
) -> None:
    batch = hostile(tokenizer, seed)
    assert_equal_ids(batch, ours, theirs)


@pytest.mark.parametrize("name", TIKTOKEN_SETS)
def test_tiktoken(name: str, shared: Path) -> None:
    tokenizer = makers.published(shared, name)
    header = json.loads((shared / "data" / "golden" / f"{name}.header.json").read_text())
    data = _core.decompress((shared / "data" / "vocab" / f"{name}.tiktoken.zst").read_bytes())
    ranks = {
        base64.b64decode(token): int(rank)
        for token, rank in (line.split() for line in data.splitlines() if line)
    }
    reference = tiktoken.Encoding(
        name,
        pat_str=header["pattern"],
        mergeable_ranks=ranks,
        special_tokens=tokenizer.special_tokens,
    )
    compare(tokenizer, 11, tokenizer.encode, reference.encode_ordinary)
    compare(
        tokenizer,
        12,
        lambda text: tokenizer.encode(text, allow_special="all"),
        lambda text: reference.encode(text, allowed_special="all"),
    )


@pytest.mark.parametrize("name", HF_FILES)
def test_tokenizers(name: str, shared: Path) -> None:
    path = shared / "data" / "vocab" / f"{name}.json.zst"
    tokenizer = jeton.load(path)
    reference = HfTokenizer.from_str(_core.decompress(path.read_bytes()).decode())
    reference.no_truncation()
    reference.no_padding()

    def theirs(text: str) -> list[int]:
        ids: list[int] = reference.encode(text, add_special_tokens=False).ids
        return ids

    for special in (False, True):
        reference.encode_special_tokens = not special
        ours = functools.partial(tokenizer.encode, allow_special="all" if special else ())
        compare(tokenizer, 13, ours, theirs)


@pytest.mark.parametrize("name", ["gpt2", "modernbert", "roberta-base"])
def test_templates_of_tokenizers(name: str, shared: Path) -> None:
    path = shared / "data" / "vocab" / f"{name}.json.zst"
    tokenizer = jeton.load(path)
    reference = HfTokenizer.from_str(_core.decompress(path.read_bytes()).decode())
    reference.no_truncation()
    for text in ["", "a", " ", *glued(random.Random(14), 100)]:
        ours = tokenizer.encode(text, add_special_tokens=True, allow_special="all")
        assert ours == reference.encode(text).ids, text
        assert tokenizer.decode(ours, skip_special_tokens=True) == reference.decode(ours), text
