"""The reference libraries, built from the vocabulary files as the golden headers say."""

from __future__ import annotations

import base64
import importlib.util
import json
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from jeton import _core
from scripts.conformance.sets import GoldenSet

__all__ = ["Reference", "reference_of"]


class Reference(Protocol):
    """Reference library for texts and ids."""

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Ids; ``special``: special tokens in the text count, where the library has the choice."""

    def decode(self, ids: list[int], *, skip_special: bool) -> str:
        """The text of ids."""


def reference_of(golden: GoldenSet) -> Reference | None:
    """The library that gave a set's ids, or None where it cannot be imported here."""
    builders: dict[str, Callable[[GoldenSet], Reference]] = {
        "tokenizers": _HuggingFace,
        "sentencepiece": _SentencePiece,
        "tiktoken": _TikToken,
    }
    build = builders.get(golden.library)
    if build is None or importlib.util.find_spec(golden.library) is None:
        return None
    return build(golden)


def _read(path: Path) -> bytes:
    return _core.decompress(path.read_bytes())


class _HuggingFace:
    def __init__(self, golden: GoldenSet) -> None:
        from tokenizers import Tokenizer

        if golden.files.endswith(".vocab.txt"):
            self._tokenizer = _word_piece(golden)
        elif " + " in golden.files:
            self._tokenizer = _byte_level(golden)
        else:
            self._tokenizer = Tokenizer.from_str(_read(golden.vocabulary_paths[0]).decode())
        # Truncation and padding belong to a use of the tokenizer; the golden ids are whole texts'.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, text: str, *, special: bool) -> list[int]:
        self._tokenizer.encode_special_tokens = not special
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: list[int], *, skip_special: bool) -> str:
        text: str = self._tokenizer.decode(ids, skip_special_tokens=skip_special)
        return text


def _word_piece(golden: GoldenSet) -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    lines = _read(golden.vocabulary_paths[0]).decode().split("\n")
    vocabulary = {line.rstrip("\r"): i for i, line in enumerate(lines) if line}
    model = {k: v for k, v in golden.header["model"].items() if k != "type"}
    normalizer = {k: v for k, v in golden.header["normalizer"].items() if k != "type"}
    tokenizer = Tokenizer(models.WordPiece(vocab=vocabulary, **model))
    tokenizer.normalizer = normalizers.BertNormalizer(**normalizer)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix=model["continuing_subword_prefix"])
    # As the library's own `BertWordPieceTokenizer` does with the tokens that there are.
    special = ("[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]")
    tokenizer.add_special_tokens([token for token in special if token in vocabulary])
    return tokenizer


def _byte_level(golden: GoldenSet) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    vocabulary_path, merges_path = golden.vocabulary_paths
    vocabulary = json.loads(_read(vocabulary_path))
    lines = _read(merges_path).decode().split("\n")
    merges: Any = [
        tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")
    ]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    settings = {k: v for k, v in golden.header["pre_tokenizer"].items() if k != "type"}
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=settings["add_prefix_space"], use_regex=settings["use_regex"]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


class _SentencePiece:
    def __init__(self, golden: GoldenSet) -> None:
        import sentencepiece

        data = _read(golden.vocabulary_paths[0])
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=data)

    def encode(self, text: str, *, special: bool) -> list[int]:
        del special  # this library has no such choice
        return list(self._processor.encode(text))

    def decode(self, ids: list[int], *, skip_special: bool) -> str:
        del skip_special
        return str(self._processor.decode(ids))


class _TikToken:
    def __init__(self, golden: GoldenSet) -> None:
        import tiktoken

        data = _read(golden.vocabulary_paths[0])
        if golden.name == "claude":
            # The file is the JSON of tiktoken's JavaScript form: lines of "! first_rank token ...".
            data = _claude_lines(json.loads(data)["bpe_ranks"])
        ranks = {}
        for line in data.splitlines():
            if line:
                token, rank = line.split(b" ")
                ranks[base64.b64decode(token)] = int(rank)
        self._encoding = tiktoken.Encoding(
            golden.name,
            pat_str=golden.header["pattern"],
            mergeable_ranks=ranks,
            special_tokens={},
        )
        self._normalizer = _normal_form(golden.header["normalizer"])

    def encode(self, text: str, *, special: bool) -> list[int]:
        del special  # the headers say: none
        return self._encoding.encode_ordinary(self._normalizer(text))

    def decode(self, ids: list[int], *, skip_special: bool) -> str:
        del skip_special
        return self._encoding.decode(ids)


def _claude_lines(text: str) -> bytes:
    lines: list[bytes] = []
    for line in text.split("\n"):
        if line:
            _, first, *tokens = line.split(" ")
            lines += [f"{t} {i}".encode() for i, t in enumerate(tokens, int(first))]
    return b"\n".join(lines)


@dataclass(frozen=True, slots=True)
class _NormalForm:
    form: str | None

    def __call__(self, text: str) -> str:
        return text if self.form is None else unicodedata.normalize(self.form, text)  # type: ignore[arg-type]


def _normal_form(described: str | None) -> _NormalForm:
    forms = [form for form in ("NFC", "NFKC") if described and f'("{form}")' in described]
    assert (described is None) == (not forms), described
    return _NormalForm(forms[0] if forms else None)
