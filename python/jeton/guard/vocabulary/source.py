"""The vocabulary as its file states it, whether or not the file makes a tokenizer.

A file with faults may not load; its lists are looked at all the same. The files of Hugging Face
(``tokenizer.json``, ``vocab.json`` with ``merges.txt``, ``vocab.txt``) are read as they are; others
by way of the tokenizer that they make.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from jeton._core import Tokenizer
from jeton._foreign import json_of
from jeton.errors import FormatError, JetonError
from jeton.formats.homes import find_tokenizer_file
from jeton.formats.reading import read, read_text
from jeton.guard.verdict import GuardLevel
from jeton.registry import TokenizerLike, load
from jeton.registry.finding import place_of

# Findings about vocabularies, and the table of their kinds.

MAX_NAMED: Final = 20
"""Ids and tokens of a finding that are listed; all of them are counted."""


@dataclass(frozen=True, slots=True)
class VocabularyFinding:
    """One fault of a vocabulary, or one suspicion.

    Attributes:
        kind: Name in ``DANGERS``.
        severity: Severity.
        what: One sentence with the number.
        where: File or part.
        n: Tokens, rules or files concerned.
        ids: Ids, all of them, ascending; empty where no ids are concerned.
        examples: The first of them in words.
    """

    kind: str
    severity: GuardLevel
    what: str
    where: str
    n: int = 1
    ids: tuple[int, ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def danger(self) -> str:
        """Effect that an attacker or an accident has by it."""
        return DANGERS[self.kind]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "kind": self.kind,
            "severity": self.severity.value,
            "what": self.what,
            "where": self.where,
            "danger": self.danger,
            "n": self.n,
            "ids": list(self.ids[:MAX_NAMED]),
            "examples": list(self.examples),
        }


DANGERS: Final = {
    "does-not-load": "programs that are less strict load it and give ids that nobody checked",
    "empty": "no text can be encoded: a program fails, or drops the text without a word",
    "unreachable": "no text gives these ids, so they were never trained; a client that sends ids "
    "can still use them",
    "duplicate-id": "two tokens share a row of the model: one of them is read as the other",
    "duplicate-token": "the same text has two ids, and a program may give either",
    "id-out-of-range": "the model has no row for the id: an index error, or foreign memory",
    "id-hole": "an id without a token can be generated and cannot be decoded",
    "merge-part-missing": "the merge never happens, or a program fails when it loads the file",
    "merge-result-missing": "the merge makes a token without an id: unknown text, or a failure",
    "order": "ids were exchanged: words are read as other words, and the weights look unchanged",
    "differs-from-base": "text gives other ids than the model was trained with",
    "suspicious-text": "a token that is an instruction, an address or a command was put there",
    "hidden-text": "a token has characters that nobody sees",
    "special-look-alike": "an ordinary token reads like a special one, and passes filters of ids",
    "merge-twice": "programs differ in which of the two places counts, and so in ids",
    "post-processor": "tokens that nobody wrote stand before or behind every text",
    "personal-data": "the training corpus had this text many times: it may be personal or secret",
    "captures-words": "an added token is cut out of ordinary words before all else",
    "normalizer-rewrites": "text is changed before it is encoded: the model reads another text",
    "decoder-rewrites": "ids are decoded to another text than the one that gave them",
    "costly-pattern": "a short text can keep the tokenizer busy for minutes",
    "template-reaches-out": "a chat template that reaches outside can run code or read files",
    "template-injects": "the template adds words that no user and no developer wrote",
    "remote-code": "loading the model runs code from its folder",
    "unsafe-file": "a pickle runs code when it is loaded",
    "damaged-file": "the rows of the model could not be looked at: nothing is said of them",
    "model-rows": "ids beyond the matrix fail, or rows without a token are generated",
    "bad-rows": "one such row makes every answer that meets its token a row of NaN",
    "zero-rows": "a row of zeros says nothing of its token: it was never trained, or was erased",
    "equal-rows": "tokens with one row are the same to the model: never trained, or copied",
    "undertrained-suspects": "tokens that training hardly touched make answers erratic, and "
    "attackers look for them",
}
"""Kinds, with the effect of each."""


def found(
    kind: str,
    severity: GuardLevel,
    what: str,
    where: str,
    *,
    ids: Iterable[int] = (),
    examples: Iterable[str] = (),
    n: int | None = None,
) -> VocabularyFinding:
    """Return a finding; examples beyond ``MAX_NAMED`` are left out."""
    listed = tuple(sorted(set(ids)))
    shown = tuple(examples)
    count = n if n is not None else len(listed) or len(shown) or 1
    return VocabularyFinding(kind, severity, what, where, count, listed, shown[:MAX_NAMED])


_BYTE_OF_CHAR: Final = {
    chr(code): byte
    for byte, code in zip(
        [
            *range(0x21, 0x7F),
            *range(0xA1, 0xAD),
            *range(0xAE, 0x100),
            *range(0x21),
            *range(0x7F, 0xA1),
            0xAD,
        ],
        [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100), *range(0x100, 0x144)],
        strict=True,
    )
}
"""Bytes of GPT-2's byte alphabet (docs/decisions/0008-byte-alphabet.md)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One token as a list states it."""

    id: int
    token: str
    token_bytes: bytes
    score: float | None = None


@dataclass(frozen=True, slots=True)
class VocabularySource:
    """Lists and rules of a tokenizer's file.

    Attributes:
        where: Path or name.
        folder: Folder of the file; None: there is none.
        tokenizer: The tokenizer; None: the file does not make one.
        error: Reason why it makes none.
        entries: Tokens of the model, in the order of the file.
        merges: Pairs of tokens in the order of the file; None: the kind of model has none.
        added: Added tokens as ``(id, content, is_special)``.
        normalizer: Rules as plain values, of ``tokenizer.json`` or of the canonical form.
        decoder: Rules likewise.
        pretokenizer: Rules likewise.
        postprocessor: Rules of ``tokenizer.json``; None for others.
        kind: TextKind of model in words.
    """

    where: str
    folder: Path | None
    tokenizer: Tokenizer | None
    error: str
    entries: tuple[Entry, ...]
    merges: tuple[tuple[str, str], ...] | None
    added: tuple[tuple[int, str, bool], ...]
    normalizer: Any = None
    decoder: Any = None
    pretokenizer: Any = None
    postprocessor: Any = None
    kind: str = ""
    bad_merges: tuple[str, ...] = field(default=())


def read_source(tokenizer: TokenizerLike) -> VocabularySource:
    """Read a tokenizer's lists from a name, a path, or a tokenizer.

    Raises:
        FormatError: The file is no vocabulary of any kind.
        OSError: It cannot be read.
    """
    if isinstance(tokenizer, Tokenizer):
        return _of_tokenizer(tokenizer, tokenizer.name or "tokenizer", None)
    asked = os.fspath(tokenizer)
    place = place_of(asked)
    if place is None:
        # The registry's message names the nearest name.
        return _of_tokenizer(load(asked), asked, None)
    folder = place if place.is_dir() else place.parent
    file = find_tokenizer_file(place) if place.is_dir() else place
    found: Tokenizer | None = None
    error = ""
    try:
        found = load(asked)
    except JetonError as failure:
        error = str(failure)
    raw = None if file is None else _raw(file)
    own_folder = folder if place.is_dir() else None
    if raw is not None:
        return _of_json(raw, asked, own_folder, found, error)
    if found is None:
        lines = None if file is None else _of_lines(file, asked, own_folder, error)
        if lines is not None:
            return lines
        raise FormatError(error, path=asked)
    return _of_tokenizer(found, asked, own_folder)


def _raw(file: Path) -> dict[str, Any] | None:
    """The object of a ``tokenizer.json``, or of a ``vocab.json`` with its merges."""
    data = read(file)
    if data.lstrip()[:1] != b"{":
        return None
    pairs: dict[str, Any]
    try:
        pairs = json_of(data, object_pairs_hook=_with_repeats)
    except (ValueError, RecursionError):
        return None
    if isinstance(pairs.get("model"), dict) and "vocab" in pairs["model"]:
        return pairs
    if file.name.endswith("vocab.json") and all(type(v) is int for v in pairs.values()):
        merges_file = file.with_name(file.name.replace("vocab.json", "merges.txt"))
        text = read_text(merges_file) or ""
        merges = [line for line in text.splitlines() if line and not line.startswith("#version")]
        return {"model": {"type": "BPE", "vocab": pairs, "merges": merges}, "added_tokens": []}
    return None


class _Repeats(dict[str, Any]):
    """An object of JSON that remembers keys which came twice."""

    repeats: tuple[tuple[str, Any], ...] = ()


def _with_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = _Repeats(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        repeats = []
        for key, value in reversed(pairs):
            if key in seen:
                repeats.append((key, value))
            seen.add(key)
        made.repeats = tuple(repeats)
    return made


def _of_json(
    raw: Mapping[str, Any],
    where: str,
    folder: Path | None,
    tokenizer: Tokenizer | None,
    error: str,
) -> VocabularySource:
    model = raw["model"]
    vocab = model.get("vocab")
    is_bytes = _is_byte_level(raw)
    entries: list[Entry] = []
    if isinstance(vocab, dict):
        listed = [*vocab.items(), *getattr(vocab, "repeats", ())]
        for token, id_ in listed:
            if isinstance(id_, int) and not isinstance(id_, bool):
                entries.append(Entry(id_, token, _bytes_of(token, is_bytes=is_bytes)))
    elif isinstance(vocab, list):
        for id_, row in enumerate(vocab):
            if isinstance(row, list) and row and isinstance(row[0], str):
                score = row[1] if len(row) > 1 and isinstance(row[1], int | float) else None
                entries.append(Entry(id_, row[0], _bytes_of(row[0], is_bytes=is_bytes), score))
    merges, bad = _merges(model.get("merges"))
    added = raw.get("added_tokens") or []
    return VocabularySource(
        where=where,
        folder=folder,
        tokenizer=tokenizer,
        error=error,
        entries=tuple(entries),
        merges=merges,
        added=tuple(
            (one["id"], one["content"], bool(one.get("special")))
            for one in added
            if isinstance(one, dict)
            and isinstance(one.get("id"), int)
            and isinstance(one.get("content"), str)
        ),
        normalizer=raw.get("normalizer"),
        decoder=raw.get("decoder"),
        pretokenizer=raw.get("pre_tokenizer"),
        postprocessor=raw.get("post_processor"),
        kind=str(model.get("type") or "").lower(),
        bad_merges=tuple(bad),
    )


def _is_byte_level(raw: Mapping[str, Any]) -> bool:
    rules = json.dumps([raw.get("pre_tokenizer"), raw.get("decoder")])
    return "ByteLevel" in rules or raw.get("pre_tokenizer", 0) == 0


def _bytes_of(token: str, *, is_bytes: bool) -> bytes:
    if is_bytes and all(char in _BYTE_OF_CHAR for char in token):
        return bytes(_BYTE_OF_CHAR[char] for char in token)
    if not is_bytes:
        token = token.replace("\u2581", " ")
    return token.encode("utf-8", "surrogatepass")


def _merges(found: Any) -> tuple[tuple[tuple[str, str], ...] | None, list[str]]:
    if not isinstance(found, list):
        return None, []
    merges, bad = [], []
    for one in found:
        parts = one.split(" ") if isinstance(one, str) else one
        if isinstance(parts, list) and len(parts) == 2 and all(isinstance(p, str) for p in parts):
            merges.append((parts[0], parts[1]))
        else:
            bad.append(str(one)[:80])
    return tuple(merges), bad


def _of_lines(file: Path, where: str, folder: Path | None, error: str) -> VocabularySource | None:
    """A ``vocab.txt`` or rank file that does not load, line by line."""
    data = read(file)
    entries = []
    for number, line in enumerate(data.splitlines()):
        parts = line.split(b" ")
        if (
            file.name.endswith((".tiktoken", ".tiktoken.zst"))
            and len(parts) == 2
            and parts[1].isdigit()
        ):
            try:
                token = b64decode(parts[0], validate=True)
            except ValueError:
                continue
            entries.append(Entry(int(parts[1]), token.decode("utf-8", "replace"), token))
        elif "vocab" in file.name and file.name.endswith((".txt", ".txt.zst")):
            entries.append(Entry(number, line.decode("utf-8", "replace"), line))
    if not entries:
        return None
    return VocabularySource(where, folder, None, error, tuple(entries), None, ())


def _of_tokenizer(tokenizer: Tokenizer, where: str, folder: Path | None) -> VocabularySource:
    form = json.loads(tokenizer.to_canonical())
    model = form["model"]
    pieces = model.get("pieces") or []
    scores = {
        id_: piece[1]
        for id_, piece in enumerate(pieces)
        if isinstance(piece, list) and len(piece) > 1
    }
    mask = tokenizer.is_token_mask()
    added_ids = {token.id for token in tokenizer.added_tokens}
    entries = []
    for id_ in mask.nonzero()[0].tolist():
        if id_ in added_ids:
            continue
        token_bytes = tokenizer.id_to_bytes(id_)
        entries.append(Entry(id_, tokenizer.id_to_token(id_) or "", token_bytes, scores.get(id_)))
    name_of = {entry.id: entry.token for entry in entries}
    merges = model.get("merges")
    pairs = None
    if isinstance(merges, list):
        pairs = tuple((name_of.get(a, ""), name_of.get(b, "")) for a, b in merges)
    return VocabularySource(
        where=where,
        folder=folder,
        tokenizer=tokenizer,
        error="",
        entries=tuple(entries),
        merges=pairs,
        added=tuple((t.id, t.content, t.special) for t in tokenizer.added_tokens),
        normalizer=form.get("normalizer"),
        decoder=form.get("decoder"),
        pretokenizer=form.get("pretokenizer"),
        kind=str(model.get("type")),
    )
