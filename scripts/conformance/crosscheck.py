"""Ids that other projects keep for their own tests, where the vocabulary is at hand."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import jeton
from jeton import Tokenizer, _core
from jeton.errors import JetonError
from scripts.conformance.checks import first_difference
from scripts.conformance.sets import stored

__all__ = [
    "VOCABULARIES",
    "WITHOUT_SPECIALS",
    "CrossResult",
    "Sample",
    "check_one",
    "samples_by_name",
]

KITOKEN = "kitoken_test_tokens.tar.zst"
LLAMA_CPP = "llama_cpp_vocab_inp_out.tar.zst"

VOCABULARIES: Mapping[str, str] = {
    "kitoken/sentencepiece/llama2": "llama2.model",
    "kitoken/sentencepiece/mistral01": "mistral_v1.model",
    "kitoken/sentencepiece/mistral03": "mistral_v3.model",
    "kitoken/sentencepiece/nai-t5": "nai-t5.model",
    "kitoken/sentencepiece/nerdstash": "nerdstash.model",
    "kitoken/sentencepiece/xlnet_base_cased": "xlnet_base_cased.model",
    "kitoken/tekken/mistral2410": "tekken_240718.json",
    "kitoken/tekken/mistral2512": "tekken_240718.json",
    "kitoken/tekken/mistral35": "tekken_240718.json",
    "kitoken/tiktoken/cl100k_base": "cl100k_base.tiktoken",
    "kitoken/tiktoken/kimi_k2": "kimi_k2.tiktoken",
    "kitoken/tiktoken/llama4": "llama4.tiktoken",
    "kitoken/tiktoken/o200k_base": "o200k_base.tiktoken",
    "kitoken/tiktoken/p50k_base": "p50k_base.tiktoken",
    "kitoken/tokenizers/bert_base_cased": "bert_base_cased.json",
    "kitoken/tokenizers/clip_base": "clip_base.json",
    "kitoken/tokenizers/gpt2": "gpt2.json",
    "kitoken/tokenizers/gpt_neox": "gpt_neox_20b.json",
    "kitoken/tokenizers/gpt_oss": "o200k_base.tiktoken",
    "kitoken/tokenizers/llama2": "llama2.json",
    "kitoken/tokenizers/llama32": "llama3.tiktoken",
    "kitoken/tokenizers/llama33": "llama3.tiktoken",
    "kitoken/tokenizers/llama4": "llama4.tiktoken",
    "kitoken/tokenizers/mistral01": "mistral01.json",
    "kitoken/tokenizers/mistral03": "mistral03.json",
    "kitoken/tokenizers/mistral2410": "tekken_240718.json",
    "kitoken/tokenizers/mistral2512": "tekken_240718.json",
    "kitoken/tokenizers/mistral35": "tekken_240718.json",
    "kitoken/tokenizers/modernbert": "modernbert.json",
    "kitoken/tokenizers/mpt": "gpt_neox_20b.json",
    "kitoken/tokenizers/r1": "deepseek_v3.recon.json",
    "kitoken/tokenizers/xlnet_base_cased": "xlnet_base_cased.json",
    "llama.cpp/bert-bge": "bert_base_uncased.json",
    "llama.cpp/deepseek-coder": "deepseek-coder.recon.json",
    "llama.cpp/deepseek-llm": "deepseek-llm.recon.json",
    "llama.cpp/deepseek-r1-qwen": "qwen.tiktoken",
    "llama.cpp/falcon": "falcon.json",
    "llama.cpp/gpt-2": "gpt2.json",
    "llama.cpp/llama-bpe": "llama3.tiktoken",
    "llama.cpp/llama-spm": "llama2.model",
    "llama.cpp/mpt": "gpt_neox_20b.json",
    "llama.cpp/phi-3": "phi-3-mini.json",
    "llama.cpp/qwen2": "qwen.tiktoken",
    "llama.cpp/refact": "refact.recon.json",
    "llama.cpp/roberta-bpe": "roberta-base.json",
    "llama.cpp/starcoder": "starcoder.recon.json",
}
"""Their name of a vocabulary -> ours. A name that is absent here has no vocabulary in the data."""

WITHOUT_SPECIALS = ("kitoken/sentencepiece/", "kitoken/tekken/", "kitoken/tiktoken/kimi_k2")
"""Names, or their beginnings, for which special tokens in the text are ordinary text: the
libraries behind the first two match none, and kitoken's Kimi K2 has none."""

_KITOKEN_IDS = re.compile(r"tests/data/([a-z]+)/(small|mixed|utf8)_tokens_(.+)\.txt")
_LLAMA_CPP_IDS = re.compile(r"models/ggml-vocab-(.+)\.gguf\.out")
_LLAMA_CPP_SEPARATOR = "\n__ggml_vocab_test__\n"


@dataclass(frozen=True, slots=True)
class Sample:
    """One text and the ids that the project keeps for it."""

    project_name: str
    text: str
    ids: list[int]
    special: bool
    """True if special tokens in the text count."""


@dataclass(frozen=True, slots=True)
class CrossResult:
    """Result of one vocabulary of another project."""

    name: str
    vocabulary: str | None
    n_cases: int
    n_different: int
    first: str = ""
    """The shortest different text and where its ids part."""
    not_loaded: str | None = None


def samples_by_name(shared: Path) -> dict[str, list[Sample]]:
    """Read the two archives: name of a vocabulary there -> its samples, names sorted.

    Raises:
        OSError: The shared data is not there.
        ValueError: Texts and ids do not pair up.
    """
    folder = shared / "data" / "crosscheck"
    by_name: dict[str, list[Sample]] = {}
    for sample in chain(
        _kitoken(_members(folder / KITOKEN)), _llama_cpp(_members(folder / LLAMA_CPP))
    ):
        by_name.setdefault(sample.project_name, []).append(sample)
    return dict(sorted(by_name.items()))


def check_one(shared: Path, name: str, cases: list[Sample]) -> CrossResult:
    """Compare one vocabulary of the archives, where it is at hand."""
    file = VOCABULARIES.get(name)
    if file is None:
        return CrossResult(name, None, len(cases), 0)
    try:
        tokenizer = jeton.load(stored(shared, file))
    except (JetonError, OSError) as error:
        reason = str(error).split("\n", 1)[0]
        return CrossResult(name, file, len(cases), len(cases), not_loaded=reason)
    different = [case for case in cases if _encode(tokenizer, case) != case.ids]
    first = ""
    if different:
        case = min(different, key=lambda each: len(each.text))
        parts = first_difference(_encode(tokenizer, case), case.ids)
        first = f"{case.text[:60]!r}: {parts}"
    return CrossResult(name, file, len(cases), len(different), first)


def _encode(tokenizer: Tokenizer, case: Sample) -> list[int]:
    return tokenizer.encode(case.text, allow_special="all" if case.special else None)


def _members(archive: Path) -> dict[str, str]:
    data = _core.decompress(archive.read_bytes(), path=str(archive))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        files = ((member.name, tar.extractfile(member)) for member in tar)
        return {name: file.read().decode("utf-8") for name, file in files if file is not None}


def _kitoken(members: Mapping[str, str]) -> Iterator[Sample]:
    # Their files write a line end inside a text as \n, a space at its end as \s.
    inputs = {
        kind: [
            line.replace("\\n", "\n").replace("\\s", " ").replace("\\x", "")
            for line in _lines(members[f"tests/data/{kind}_input.txt"])
        ]
        for kind in ("small", "mixed")
    }
    inputs["utf8"] = [members["tests/data/utf8_input.txt"]]
    for path, content in members.items():
        found = _KITOKEN_IDS.fullmatch(path)
        if found is None:
            continue
        library, kind, vocabulary = found.groups()
        rows = [[int(i) for i in line.split(",")] for line in _lines(content)]
        if kind == "utf8":
            rows = [[i for row in rows for i in row]]
        for text, ids in zip(inputs[kind], rows, strict=True):
            name = f"kitoken/{library}/{vocabulary}"
            yield Sample(name, text, ids, special=not name.startswith(WITHOUT_SPECIALS))


def _llama_cpp(members: Mapping[str, str]) -> Iterator[Sample]:
    for path, content in members.items():
        found = _LLAMA_CPP_IDS.fullmatch(path)
        if found is None:
            continue
        texts = members[path.removesuffix(".out") + ".inp"].split(_LLAMA_CPP_SEPARATOR)
        for text, line in zip(texts, content.split("\n"), strict=True):
            ids = [int(i) for i in line.split()]
            yield Sample(f"llama.cpp/{found[1]}", text, ids, special=False)


def _lines(content: str) -> list[str]:
    return [line.removesuffix("\r") for line in content.split("\n") if line not in ("", "\r")]
