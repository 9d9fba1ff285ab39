"""Files written here load in `tokenizers`, `tiktoken` and `sentencepiece` with equal ids."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tiktoken
import tokenizers

import jeton
from jeton import Tokenizer
from jeton._core import (
    from_canonical,
    from_gpt2_files,
    from_hf_json,
    from_sentencepiece,
    from_vocab_txt,
    write_format,
)
from jeton.edge_texts import edge_texts
from jeton.errors import EncodeError
from jeton.formats import load_file

pytestmark = pytest.mark.rivals

N_TEXTS = 400


def texts_for(tokenizer: Tokenizer, n: int = N_TEXTS) -> list[str]:
    return list(islice(edge_texts(seed=11, tokenizers=[tokenizer], max_chars=80), n))


def our_ids(tokenizer: Tokenizer, text: str) -> list[int] | None:
    try:
        return tokenizer.encode(text)
    except EncodeError:
        return None


def assert_equal_in_tokenizers(source: Tokenizer, data: bytes, n: int = N_TEXTS) -> None:
    theirs = tokenizers.Tokenizer.from_str(data.decode("utf-8"))
    theirs.no_truncation()
    theirs.no_padding()
    # What is special is text here; there, it is found unless this says otherwise.
    theirs.encode_special_tokens = True
    for text in texts_for(source, n):
        assert theirs.encode(text, add_special_tokens=False).ids == our_ids(source, text), text


def assert_equal_in_sentencepiece(source: Tokenizer, data: bytes, n: int = N_TEXTS) -> None:
    theirs = sentencepiece.SentencePieceProcessor(model_proto=data)
    for text in texts_for(source, n):
        if "\0" in text:
            continue  # the binding's C strings end there
        assert theirs.encode(text) == our_ids(source, text), text


def assert_equal_in_tiktoken(source: Tokenizer, path: Path, options: dict[str, object]) -> None:
    ranks = {}
    import base64

    for line in path.read_bytes().splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    pattern = jeton.load(path, **options).split_pattern  # type: ignore[arg-type]
    assert pattern is not None
    theirs = tiktoken.Encoding("written", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    for text in texts_for(source):
        assert theirs.encode(text, disallowed_special=()) == our_ids(source, text), text


def test_a_bundled_tokenizer_in_all_three(tmp_path: Path) -> None:
    source = jeton.load("jeton-general-32k-v1")
    assert_equal_in_tokenizers(source, source.to_bytes("tokenizer.json"))
    result = jeton.convert(source, tmp_path / "x.tiktoken")
    assert result.ids_equal is True
    assert_equal_in_tiktoken(source, tmp_path / "x.tiktoken", dict(result.load_options))


def trained_model(tmp_path: Path, **options: Any) -> bytes:
    """A small SentencePiece model, trained by sentencepiece itself."""
    corpus = tmp_path / "corpus.txt"
    text = "the quick brown fox jumps over the lazy dog. naïve café, 12.5 mg of 中文字! " * 3
    lines = [text[i : i + 60] for i in range(0, len(text), 7)]
    corpus.write_text("\n".join(lines), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus),
        model_prefix=str(tmp_path / "m"),
        minloglevel=2,
        hard_vocab_limit=False,
        **options,
    )
    return (tmp_path / "m.model").read_bytes()


def as_tokenizer_json(source: Tokenizer) -> tuple[set[str], bytes]:
    """The components that are lost, and the file."""
    result = write_format(source, "tokenizer.json")
    assert not result["obstacles"]
    return {component for component, _, _ in result["losses"]}, dict(result["files"])[""]


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("dummy", [False, True])
@pytest.mark.parametrize("extra", [False, True])
def test_sentencepiece_bpe_becomes_a_tokenizer_json(
    tmp_path: Path, byte_fallback: bool, dummy: bool, extra: bool
) -> None:
    data = trained_model(
        tmp_path,
        model_type="bpe",
        vocab_size=420 if byte_fallback else 160,
        byte_fallback=byte_fallback,
        add_dummy_prefix=dummy,
        remove_extra_whitespaces=extra,
        normalization_rule_name="identity",
    )
    source = from_sentencepiece(data)
    assert_equal_in_sentencepiece(source, data)
    lost, written = as_tokenizer_json(source)
    # Spaces before what stands for unknown text cannot be told from others when they are decoded.
    assert lost == ({"decoder"} if extra and not byte_fallback else set())
    assert_equal_in_tokenizers(source, written)
    # Written anew, from the canonical form, and from what tokenizers has.
    anew = from_canonical(source.to_canonical()).to_bytes("sentencepiece")
    assert_equal_in_sentencepiece(source, anew)
    hf = from_hf_json(written)
    assert_equal_in_sentencepiece(source, hf.to_bytes("sentencepiece"))


def test_unknown_fields_of_a_model_are_kept(tmp_path: Path) -> None:
    data = trained_model(tmp_path, model_type="unigram", vocab_size=120)
    assert from_sentencepiece(data).to_bytes("sentencepiece") == data


def test_a_unigram_model_is_written_anew(tmp_path: Path) -> None:
    data = trained_model(tmp_path, model_type="unigram", vocab_size=120)
    source = from_canonical(from_sentencepiece(data).to_canonical())
    written = source.to_bytes("sentencepiece")
    assert written != data
    assert_equal_in_sentencepiece(source, written)


@pytest.mark.parametrize("model_type", ["char", "word"])
def test_models_of_words_and_characters(tmp_path: Path, model_type: str) -> None:
    data = trained_model(
        tmp_path, model_type=model_type, vocab_size=100, normalization_rule_name="identity"
    )
    source = from_sentencepiece(data)
    if model_type == "char":
        lost, written = as_tokenizer_json(source)
        assert lost == {"decoder"}
        assert_equal_in_tokenizers(source, written)
    else:
        with pytest.raises(jeton.FormatError, match="words are cut"):
            source.to_bytes("tokenizer.json")
    anew = from_canonical(source.to_canonical()).to_bytes("sentencepiece")
    assert_equal_in_sentencepiece(source, anew)


def test_gpt2_files_load_in_tokenizers(tmp_path: Path) -> None:
    from tests.formats import small

    source = from_gpt2_files(small.vocab_json(), small.merges_txt())
    source.save(tmp_path / "vocab.json")
    theirs = tokenizers.ByteLevelBPETokenizer(
        str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")
    )
    for text in texts_for(source):
        assert theirs.encode(text).ids == source.encode(text), text


def test_a_word_list_loads_in_tokenizers(tmp_path: Path) -> None:
    from tests.formats import small

    source = from_vocab_txt(small.vocab_txt())
    source.save(tmp_path / "vocab.txt")
    theirs = tokenizers.BertWordPieceTokenizer(str(tmp_path / "vocab.txt"), lowercase=True)
    theirs._tokenizer.encode_special_tokens = True
    for text in texts_for(source):
        assert theirs.encode(text, add_special_tokens=False).ids == source.encode(text), text


# The published vocabularies: a few here, all of them in `make conformance`.

_SHORT = ("llama2.model", "mistral_v1.model", "r50k_base.tiktoken.zst")


@pytest.mark.parametrize("name", _SHORT)
def test_published_vocabularies_as_tokenizer_json(shared: Path, name: str) -> None:
    source = load_file(shared / "data" / "vocab" / name)
    assert_equal_in_tokenizers(source, source.to_bytes("tokenizer.json"), n=150)


@pytest.mark.conformance
def test_every_published_vocabulary_in_every_format_that_holds_it(
    shared: Path, tmp_path: Path
) -> None:
    n_files = n_written = 0
    for path in sorted((shared / "data" / "vocab").iterdir()):
        if "merges.txt" in path.name:
            continue
        source = load_file(path)
        n_files += 1
        for format_name in jeton.formats.FORMATS:
            result = write_format(source, format_name)
            if not result["obstacles"] and result["read"].fingerprint != source.fingerprint:
                assert result["losses"] or result["rewordings"], (path.name, format_name)
            if result["obstacles"] or result["losses"]:
                continue
            files = dict(result["files"])
            data = files[""]
            if format_name == "tokenizer.json":
                assert_equal_in_tokenizers(source, data)
            elif format_name == "sentencepiece":
                assert_equal_in_sentencepiece(source, data)
            elif format_name == "tiktoken":
                target = tmp_path / f"{n_files}.tiktoken"
                target.write_bytes(data)
                assert_equal_in_tiktoken(source, target, result["options"])
            read = result["read"]
            for text in texts_for(source):
                assert our_ids(read, text) == our_ids(source, text), (path.name, format_name)
            n_written += 1
        own = _own_format(path.name, source)
        if own is not None:
            result = write_format(source, own)
            assert not result["obstacles"], (path.name, result["obstacles"])
            assert result["read"].fingerprint == source.fingerprint, path.name
    assert n_files > 50
    assert n_written > 140


def _own_format(name: str, source: Tokenizer) -> str | None:
    """The format that a published file has, in which it must come back by fingerprint."""
    plain = name.removesuffix(".zst").removesuffix(".gz")
    if plain.endswith(".vocab.txt"):
        return "vocab.txt"
    if plain.endswith(".vocab.json"):
        return "vocab.json"
    if plain.endswith(".model"):
        return "sentencepiece"
    if plain.startswith("tekken"):
        return "tekken.json"
    if plain == "claude.json":
        return "claude"
    if plain.startswith("bpe_simple"):
        return "clip"
    if plain.startswith("rwkv"):
        return "rwkv"
    if plain.endswith(".json"):
        return "tokenizer.json"
    del source
    return None  # what a rank file does not say comes from the published name


@pytest.mark.conformance
def test_every_published_rank_file_comes_back_by_fingerprint(shared: Path, tmp_path: Path) -> None:
    for path in sorted((shared / "data" / "vocab").glob("*.tiktoken.zst")):
        source = load_file(path)
        target = tmp_path / path.name
        if source.name == "qwen":
            # Its normalizer is in no rank file, and its published file (other line ends) is
            # not the one that is written: the name alone would promise too much.
            with pytest.raises(jeton.LossyConversionError, match="nfc"):
                source.save(target)
            continue
        source.save(target)
        assert load_file(target).fingerprint == source.fingerprint, path.name
        through = jeton.convert(source, tmp_path / "there.json")
        back = jeton.convert(tmp_path / "there.json", tmp_path / "back.tiktoken")
        assert through.ids_equal, path.name
        assert back.ids_equal, path.name
        assert load_file(target).to_tiktoken() == source.to_tiktoken()


def test_ranks_become_the_merges_of_transformers(shared: Path) -> None:
    # The list that transformers' converter makes of ranks: each pair that makes a token, by rank.
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    source = load_file(shared / "data" / "vocab" / "r50k_base.tiktoken.zst")
    written = json.loads(source.to_bytes("tokenizer.json"))["model"]["merges"]
    letters = bytes_to_unicode()
    ranks = {source.id_to_bytes(i): i for i in range(50256)}
    expected = []
    for token, rank in ranks.items():
        cuts = [(token[:k], token[k:]) for k in range(1, len(token))]
        for one, two in cuts:
            if one in ranks and two in ranks:
                expected.append((rank, one, two))
    spelled = {
        (rank, "".join(letters[b] for b in one), "".join(letters[b] for b in two))
        for rank, one, two in expected
    }
    vocab = json.loads(source.to_bytes("tokenizer.json"))["model"]["vocab"]
    assert {(vocab[a + b], a, b) for a, b in written} == spelled
    made = [vocab[a + b] for a, b in written]
    assert made == sorted(made)
