"""The families: published vocabularies from the shared data, and ones made in the run."""

from __future__ import annotations

import functools
import json
import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer

import jeton
from jeton import Tokenizer, _core
from jeton._core import from_hf_json
from jeton.errors import JetonError
from tests.core import makers
from tests.differential import crossing, grammar, patterns, pieces
from tests.differential.harness import Check, Family, NotLoadable, Pair, fixed
from tests.differential.references import (
    hf_checks,
    hf_object_checks,
    longest_match_checks,
    read_ranks,
    read_rwkv,
    sentencepiece_checks,
    tiktoken_checks,
)

TIKTOKEN = (
    *("cl100k_base", "kimi_k2", "llama3", "llama4", "o200k_base", "p50k_base", "qwen"),
    *("r50k_base", "whisper_multilingual"),
)
HF_JSON = (
    *("bert_base_cased", "bert_base_uncased", "chatglm", "clip_base", "deepseek-coder.recon"),
    *("deepseek-llm.recon", "deepseek_v3.recon", "envit5", "falcon", "focus_ar_xlmr_unigram_50k"),
    *("focus_de_bpe_50k", "gpt2", "gpt_neox_20b", "llama2", "mistral01", "mistral03"),
    *("modernbert", "pegasus_hf", "phi-2", "phi-3-mini", "refact.recon", "roberta-base"),
    *("starcoder.recon", "t5-small", "xlnet_base_cased"),
)
SENTENCEPIECE = (
    *("albert_30k-clean", "bigbird_gpt2", "bpemb_en_100k", "chatglm_ice_text", "laser_100k"),
    *("llama2", "mistral_v1", "mistral_v3", "nai-t5", "nerdstash", "nmt_joint.spm", "pegasus"),
    *("uri100k", "xlm_roberta_recon", "xlnet_base_cased"),
)
WORDPIECE_TXT = (
    *("bert_base_cased", "bert_base_uncased", "bert_chinese", "bert_multi_cased"),
    "scibert_scivocab_uncased",
)


def families(shared: Path | None) -> list[Family]:
    """Every family; those of published vocabularies say so where the shared data is missing."""
    listed = [_published(f"tiktoken/{name}", _tiktoken, name, shared) for name in TIKTOKEN]
    listed += [_published(f"hf/{name}", _hf_json, name, shared) for name in HF_JSON]
    listed += [_published(f"spm/{name}", _sentencepiece, name, shared) for name in SENTENCEPIECE]
    listed += [_published(f"bert/{name}", _wordpiece_txt, name, shared) for name in WORDPIECE_TXT]
    listed += [
        _published(f"files/{name}", _gpt2_files, name, shared) for name in ("gpt2", "roberta-base")
    ]
    listed.append(_published("rwkv/world", _rwkv, "rwkv_vocab_v20230424", shared))
    listed.append(_published("tekken/240718", _tekken, "tekken_240718", shared))
    listed.append(_published("tiktoken/claude", _claude, "claude", shared))
    listed += [
        Family(f"made/{name}", fixed(functools.partial(_made, name))) for name in makers.TINY
    ]
    for name, module_pair in (
        ("tokenizer-json", grammar.pair),
        ("byte-level", grammar.byte_level_pair),
    ):
        listed.append(
            Family(
                f"grammar/{name}",
                module_pair,
                batch_cases=grammar.BATCH_CASES,
                simplify=grammar.simplify,
            )
        )
    for name in _core.published_patterns():
        listed.append(
            Family(
                f"crossing/tiktoken-{name}", fixed(functools.partial(crossing.tiktoken_pair, name))
            )
        )
        listed.append(
            Family(f"crossing/hf-{name}", fixed(functools.partial(crossing.hf_pair, name)))
        )
    listed.append(Family("grammar/patterns", patterns.pair, batch_cases=patterns.BATCH_CASES))
    listed.append(Family("grammar/sentencepiece", pieces.pair, batch_cases=pieces.BATCH_CASES))
    return listed


def _published(
    name: str, opener: Callable[[Path, str], Pair], vocabulary: str, shared: Path | None
) -> Family:
    def pair() -> Pair:
        if shared is None:
            raise NotLoadable("needs the shared data folder beside the project")
        return opener(shared, vocabulary)

    return Family(name, fixed(pair))


def _path(shared: Path, name: str) -> Path:
    folder = shared / "data" / "vocab"
    for path in (folder / name, folder / f"{name}.zst"):
        if path.is_file():
            return path
    raise NotLoadable(f"{name} is not in the shared data folder")


def _load(path: Path) -> Tokenizer:
    try:
        return jeton.load(path)
    except JetonError as error:
        raise NotLoadable(_first_line(error, path)) from error


def _first_line(error: Exception, path: Path) -> str:
    """The cause without the path: that says on which machine this ran, not what is wrong."""
    return str(error).split("\n", 1)[0].replace(str(path), path.name)


def _header(shared: Path, name: str) -> dict[str, Any]:
    path = shared / "data" / "golden" / f"{name}.header.json"
    header: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return header


def _python_form(form: Literal["NFC", "NFKC"]) -> Callable[[str], str]:
    """The interpreter's own normal form: what the reference, made under Python 3.11, used."""
    if unicodedata.unidata_version != "14.0.0":
        raise NotLoadable(
            f"its reference normalizes by Unicode 14.0.0 (Python 3.11), this Python by "
            f"{unicodedata.unidata_version}"
        )
    return functools.partial(unicodedata.normalize, form)


def _pair(tokenizer: Tokenizer, checks: list[Check]) -> Pair:
    return Pair(tuple(checks), (tokenizer,))


def _tiktoken(shared: Path, name: str) -> Pair:
    path = _path(shared, f"{name}.tiktoken")
    tokenizer = _load(path)
    header = _header(shared, name)
    normalize = _python_form("NFC") if header["normalizer"] else None
    checks = tiktoken_checks(
        tokenizer,
        ranks=read_ranks(_core.decompress(path.read_bytes())),
        pattern=header["pattern"],
        special_tokens=tokenizer.special_tokens,
        normalize=normalize,
    )
    return _pair(tokenizer, checks)


def _hf_json(shared: Path, name: str) -> Pair:
    path = _path(shared, f"{name}.json")
    tokenizer = _load(path)
    return _pair(tokenizer, hf_checks(tokenizer, _core.decompress(path.read_bytes())))


def _sentencepiece(shared: Path, name: str) -> Pair:
    path = _path(shared, f"{name}.model")
    tokenizer = _load(path)
    return _pair(tokenizer, sentencepiece_checks(tokenizer, _core.decompress(path.read_bytes())))


def _wordpiece_txt(shared: Path, name: str) -> Pair:
    """BERT's own set-up; whether to lower the case is the publishers' word, not in the file."""
    path = _path(shared, f"{name}.vocab.txt")
    tokenizer = _load(path)
    lowercase = bool(_header(shared, f"{name}_wordpiece")["normalizer"]["lowercase"])
    with tempfile.TemporaryDirectory() as folder:
        plain_text = Path(folder) / "vocab.txt"
        plain_text.write_bytes(_core.decompress(path.read_bytes()))
        pair = [BertWordPieceTokenizer(str(plain_text), lowercase=lowercase) for _ in range(2)]
    plain, special = (each._tokenizer for each in pair)
    plain.encode_special_tokens = True
    return _pair(tokenizer, hf_object_checks(tokenizer, plain, special))


def _gpt2_files(shared: Path, name: str) -> Pair:
    """vocab.json and merges.txt in one folder, as models are published."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "vocab.json", Path(folder) / "merges.txt"]
        for file in files:
            stored = _path(shared, f"{name}.{file.name}")
            file.write_bytes(_core.decompress(stored.read_bytes()))
        tokenizer = _load(Path(folder))
        reference = ByteLevelBPETokenizer(*map(str, files))
    return _pair(tokenizer, hf_object_checks(tokenizer, reference._tokenizer, reference._tokenizer))


def _rwkv(shared: Path, name: str) -> Pair:
    path = _path(shared, f"{name}.txt")
    tokenizer = _load(path)
    vocabulary = read_rwkv(_core.decompress(path.read_bytes()))
    return _pair(tokenizer, longest_match_checks(tokenizer, vocabulary))


def _tekken(shared: Path, name: str) -> Pair:
    path = _path(shared, f"{name}.json")
    tokenizer = _load(path)
    file = json.loads(_core.decompress(path.read_bytes()))
    config = file["config"]
    n_special = int(config["default_num_special_tokens"])
    n_ranks = int(config["default_vocab_size"]) - n_special
    lines = "\n".join(
        f"{entry['token_bytes']} {entry['rank']}" for entry in file["vocab"][:n_ranks]
    )
    checks = tiktoken_checks(
        tokenizer,
        ranks=read_ranks(lines.encode()),
        pattern=config["pattern"],
        special_tokens={},
        first_rank=n_special,
    )
    return _pair(tokenizer, checks)


def _claude(shared: Path, name: str) -> Pair:
    path = _path(shared, f"{name}.json")
    tokenizer = _load(path)
    file = json.loads(_core.decompress(path.read_bytes()))
    # One line for each run of ranks: a mark, the first rank, then the tokens in order.
    lines = []
    for line in file["bpe_ranks"].split("\n"):
        _mark, first, *tokens = line.split(" ")
        lines += [f"{token} {int(first) + at}" for at, token in enumerate(tokens)]
    checks = tiktoken_checks(
        tokenizer,
        ranks=read_ranks("\n".join(lines).encode()),
        pattern=file["pat_str"],
        special_tokens=file["special_tokens"],
        normalize=_python_form("NFKC"),
    )
    return _pair(tokenizer, checks)


def _made(name: str) -> Pair:
    """A small tokenizer, trained here, written as tokenizer.json and read by `tokenizers`."""
    data = makers.tiny(name).to_hf_json()
    # Read back: "NFC" in a file means the reference's Unicode version, not the trained one's.
    tokenizer = from_hf_json(data)
    return _pair(tokenizer, hf_checks(tokenizer, data))
