"""From descriptions to cores: of whole tokenizers, and of single components to try them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from jeton._core import Tokenizer, from_hf_json
from jeton.compat.tokenizers._arguments import as_kind
from jeton.compat.tokenizers.added_token import AddedToken

# A vocabulary of the 256 bytes, to which a model without characters of its own falls back: its
# tokens spell out whatever pretokens it is given.
_BYTES: Final[dict[str, Any]] = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": True,
    "ignore_merges": False,
    "vocab": {f"<0x{byte:02X}>": byte for byte in range(256)},
    "merges": [],
}


def written(value: Any) -> str:
    """A description as JSON without white space, the form in which fragments are kept."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def document(
    *,
    model: str,
    added_tokens: Iterable[tuple[int, AddedToken]] = (),
    normalizer: str = "null",
    pre_tokenizer: str = "null",
    post_processor: str = "null",
    decoder: str = "null",
    truncation: str = "null",
    padding: str = "null",
) -> str:
    """A ``tokenizer.json`` from the JSON of its parts, in the order in which they are written."""
    tokens = [{"id": number, **token.__getstate__()} for number, token in added_tokens]
    parts = {
        "version": '"1.0"',
        "truncation": truncation,
        "padding": padding,
        "added_tokens": written(tokens),
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": post_processor,
        "decoder": decoder,
        "model": model,
    }
    return "{" + ",".join(f'"{name}":{value}' for name, value in parts.items()) + "}"


def core_of(text: str) -> Tokenizer:
    """The core of a ``tokenizer.json``."""
    return from_hf_json(text.encode())


def probe(
    *,
    normalizer: str = "null",
    pre_tokenizer: str = "null",
    added_tokens: Iterable[tuple[int, AddedToken]] = (),
) -> Tokenizer:
    """A core whose tokens are the bytes of the pretokens."""
    return core_of(
        document(
            model=written(_BYTES),
            added_tokens=added_tokens,
            normalizer=normalizer,
            pre_tokenizer=pre_tokenizer,
        )
    )


def normalize(description: Mapping[str, Any], text: str) -> str:
    """Normalize a text as the described normalizer does."""
    return probe(normalizer=written(description)).normalize(text)


def aligned(description: Mapping[str, Any], text: str) -> tuple[str, list[tuple[int, int]]]:
    """Normalize a text; return also the code points that each of its characters comes from."""
    found = probe(normalizer=written(description)).encode_with_offsets(text)
    data = bytes(found.ids.tolist())
    places = list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))
    # A character's first byte is no continuation byte.
    return data.decode(), [p for p, byte in zip(places, data, strict=True) if byte & 0xC0 != 0x80]


def pretokenize(
    core: Tokenizer, text: str, *, allow_special: bool = False
) -> list[tuple[str, tuple[int, int]]]:
    """The pretokens of a core that ``probe`` made, with their places in code points.

    Added tokens are left out.
    """
    found = core.encode_with_offsets(text, allow_special="all" if allow_special else None)
    pieces: list[tuple[bytearray, list[int]]] = []
    previous = -1
    columns = (found.ids, found.word_ids, found.starts, found.ends)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for number, word, start, end in rows:
        if word < 0:
            continue
        if word != previous:
            pieces.append((bytearray(), [start, end]))
            previous = word
        spelled, place = pieces[-1]
        spelled.append(number)
        place[0] = min(place[0], start)
        place[1] = max(place[1], end)
    return [(spelled.decode(), (place[0], place[1])) for spelled, place in pieces]


def decode_strings(description: Mapping[str, Any], tokens: Sequence[str]) -> str:
    """Decode token strings as the described decoder does."""
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(token, len(numbers)) for token in tokens]
    if not ids:
        return ""
    # A name that is no token: the model never meets text here.
    model = {"type": "WordLevel", "vocab": numbers, "unk_token": "<unk>"}
    return core_of(document(model=written(model), decoder=written(description))).decode(ids)


# Patterns: plain texts, or regular expressions in Oniguruma's syntax.


class Regex:
    """A regular expression."""

    def __init__(self, s: str) -> None:
        self._pattern = as_kind(s, str, "s")
        # A pattern that is none is refused now, and not when a tokenizer is made of it.
        normalize({"type": "Replace", "pattern": {"Regex": s}, "content": ""}, "")

    def __repr__(self) -> str:
        return f'Regex("{self._pattern}")'

    def __reduce__(self) -> tuple[type[Regex], tuple[str]]:
        return Regex, (self._pattern,)


def pattern_of(pattern: Any) -> dict[str, str]:
    """A pattern as files have it."""
    if isinstance(pattern, str):
        return {"String": as_kind(pattern, str, "pattern")}
    if isinstance(pattern, Regex):
        return {"Regex": pattern._pattern}
    raise TypeError(f"argument 'pattern': a str or a Regex is needed, not {pattern!r}")
