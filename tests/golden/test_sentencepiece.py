"""SentencePiece models give the ids, the pieces' places and the text that `sentencepiece` gives."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import sentencepiece

from jeton import Tokenizer, _core
from jeton._core import from_canonical
from scripts.conformance.sets import SETS, GoldenSet, read_set
from tests.core.texts import from_vocabulary, glued

pytestmark = pytest.mark.rivals

SENTENCEPIECE_SETS = tuple(name for name in SETS if name.endswith("_spm"))


@pytest.fixture(params=SENTENCEPIECE_SETS, scope="module")
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def golden(name: str, shared: Path) -> GoldenSet:
    return read_set(shared, name)


@pytest.fixture(scope="module")
def reference(golden: GoldenSet) -> sentencepiece.SentencePieceProcessor:
    data = _core.decompress(golden.vocabulary_paths[0].read_bytes())
    return sentencepiece.SentencePieceProcessor(model_proto=data)


@pytest.fixture(scope="module")
def tokenizer(golden: GoldenSet) -> Tokenizer:
    return golden.tokenizer()


def test_hostile_texts(
    name: str, tokenizer: Tokenizer, reference: sentencepiece.SentencePieceProcessor
) -> None:
    rng = random.Random(f"sentencepiece {name}")
    texts = glued(rng, 400) + from_vocabulary(rng, tokenizer, 400)
    different = [text for text in texts if tokenizer.encode(text) != reference.encode(text)]
    assert not different, (
        f"{len(different)} of {len(texts)}; a smallest: {min(different, key=len)!r}"
    )


def test_normalized_text(
    golden: GoldenSet, tokenizer: Tokenizer, reference: sentencepiece.SentencePieceProcessor
) -> None:
    for case in golden.cases:
        assert tokenizer.normalize(case.text) == reference.normalize(case.text), case.text[:200]


def test_begin_and_end_on_request(
    tokenizer: Tokenizer, reference: sentencepiece.SentencePieceProcessor
) -> None:
    plain = tokenizer.encode("Hello world")
    around = tokenizer.encode("Hello world", add_special_tokens=True)
    before = [reference.bos_id()] if reference.bos_id() >= 0 else []
    # A model's file does not say which of the two stand around a text: Unigram models (T5, ALBERT)
    # get both, others only the begin, as LlamaTokenizer has it (docs/concepts/exactness.md).
    has_end = tokenizer.algorithm == "unigram" and reference.eos_id() >= 0
    after = [reference.eos_id()] if has_end else []
    assert around == before + plain + after


def test_written_and_read_back(tokenizer: Tokenizer) -> None:
    again = from_canonical(tokenizer.to_canonical())
    assert again.fingerprint == tokenizer.fingerprint
    assert again.encode("Hello  wörld \u4e2d\u6587") == tokenizer.encode(
        "Hello  wörld \u4e2d\u6587"
    )
