"""Small random models for tokenizer.json files, made from the pretokens of edge texts.

Good models are beside the point: holes in the alphabet, tied scores, merges that are never
reached and words that no merges build are what implementations disagree about.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))
_MAX_WORDS = 250
_MAX_CHARS = 40


def chance(rng: random.Random, share: float) -> bool:
    """True in this share of the calls."""
    return rng.random() < share


def pick(rng: random.Random, options: Sequence[Any]) -> Any:
    """One of them."""
    return options[int(rng.random() * len(options))]


def random_model(
    rng: random.Random, kind: str, pretokens: Sequence[str], alphabet: Sequence[str]
) -> Json:
    """A model of this kind over these pretokens; `alphabet` has a token for each character."""
    counts = Counter(word[:_MAX_CHARS] for word in pretokens if word)
    words = [word for word, _ in counts.most_common(_MAX_WORDS)]
    makers = {"BPE": _bpe, "WordPiece": _wordpiece, "WordLevel": _wordlevel, "Unigram": _unigram}
    return makers[kind](rng, words, alphabet)


def _ids(rng: random.Random, tokens: Sequence[str]) -> dict[str, int]:
    """Ids in the order given or, sometimes, shuffled: nothing may lean on the order."""
    unique = list(dict.fromkeys(tokens))
    if chance(rng, 0.3):
        rng.shuffle(unique)
    return {token: number for number, token in enumerate(unique)}


def _characters(rng: random.Random, words: Sequence[str], alphabet: Sequence[str]) -> list[str]:
    """The characters of the words and the alphabet, now and then with holes."""
    known = sorted(set("".join(words)) | set(alphabet))
    return [char for char in known if not chance(rng, 0.1)] if chance(rng, 0.4) else known


def byte_level_bpe(rng: random.Random, pretokens: Sequence[str], alphabet: Sequence[str]) -> Json:
    """BPE over the 256 byte characters, as published files have it: nothing is ever unknown."""
    words = [word for word, _ in Counter(pretokens).most_common(_MAX_WORDS) if word]
    merges, built = _merges(rng, [word[:_MAX_CHARS] for word in words], "", "")
    unbuilt = [pick(rng, words) for _ in range(20)] if words and chance(rng, 0.4) else []
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": pick(rng, (None, "")),
        "end_of_word_suffix": pick(rng, (None, "")),
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": chance(rng, 0.4),
        "vocab": _ids(rng, [*alphabet, *built, *unbuilt]),
        "merges": [list(pair) for pair in merges],
    }


def _bpe(rng: random.Random, words: Sequence[str], alphabet: Sequence[str]) -> Json:
    prefix = pick(rng, ("", "", "", "", "##"))
    suffix = pick(rng, ("", "", "", "", "</w>"))
    unk = pick(rng, (None, None, "<unk>", "[UNK]"))
    characters = _characters(rng, words, alphabet)
    known = set(characters)
    merges, built = _merges(rng, [word for word in words if set(word) <= known], prefix, suffix)
    tokens = ([unk] if unk else []) + _first_symbols(characters, prefix, suffix) + built
    if chance(rng, 0.5):
        tokens += BYTE_TOKENS if chance(rng, 0.8) else BYTE_TOKENS[: int(rng.random() * 256)]
    if chance(rng, 0.3):
        # Words that are in the vocabulary but that merges do not build: `ignore_merges` shows.
        tokens += [pick(rng, words) for _ in range(20)] if words else []
    if len(merges) > 4 and chance(rng, 0.2):
        # An order of merges that no training gives.
        first, second = int(rng.random() * len(merges)), int(rng.random() * len(merges))
        merges[first], merges[second] = merges[second], merges[first]
    as_text = chance(rng, 0.5) and not any(" " in part for pair in merges for part in pair)
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unk,
        "continuing_subword_prefix": prefix or pick(rng, (None, "")),
        "end_of_word_suffix": suffix or pick(rng, (None, "")),
        "fuse_unk": chance(rng, 0.4),
        "byte_fallback": chance(rng, 0.4),
        "ignore_merges": chance(rng, 0.3),
        "vocab": _ids(rng, tokens),
        "merges": [" ".join(pair) if as_text else list(pair) for pair in merges],
    }


def _first_symbols(characters: Sequence[str], prefix: str, suffix: str) -> list[str]:
    forms = list(characters)
    if prefix:
        forms += [prefix + char for char in characters]
    if suffix:
        forms += [char + suffix for char in characters]
    if prefix and suffix:
        forms += [prefix + char + suffix for char in characters]
    return forms


def _merges(
    rng: random.Random, words: Sequence[str], prefix: str, suffix: str
) -> tuple[list[tuple[str, str]], list[str]]:
    """Merges among the commonest pairs, drawn rather than ordered, and what they build."""
    parts = []
    for word in words:
        symbols = [char if at == 0 else prefix + char for at, char in enumerate(word)]
        symbols[-1] += suffix
        parts.append(symbols)
    merges: list[tuple[str, str]] = []
    built: list[str] = []
    for _ in range(10 + int(rng.random() * 60)):
        pairs = Counter(pair for word in parts for pair in itertools.pairwise(word))
        for pair in merges:
            pairs.pop(pair, None)
        if not pairs:
            break
        left, right = pick(rng, [pair for pair, _ in pairs.most_common(6)])
        whole = left + right[len(prefix) :]
        merges.append((left, right))
        built.append(whole)
        parts = [_merged(word, left, right, whole) for word in parts]
    return merges, built


def _merged(word: list[str], left: str, right: str, whole: str) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(word):
        if word[at] == left and word[at + 1 : at + 2] == [right]:
            found.append(whole)
            at += 2
        else:
            found.append(word[at])
            at += 1
    return found


def _substrings(rng: random.Random, words: Sequence[str], n: int) -> list[str]:
    found = []
    for _ in range(n if words else 0):
        word = pick(rng, words)
        start = int(rng.random() * len(word))
        found.append(word[start : start + 1 + int(rng.random() * 6)])
    return found


def _wordpiece(rng: random.Random, words: Sequence[str], alphabet: Sequence[str]) -> Json:
    prefix = pick(rng, ("##", "##", "##", "", "@@"))
    characters = _characters(rng, words, alphabet)
    tokens = ["[UNK]", *characters, *(prefix + char for char in characters if not chance(rng, 0.1))]
    for piece in _substrings(rng, words, 200):
        tokens.append(piece if chance(rng, 0.5) else prefix + piece)
    return {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": pick(rng, (100, 100, 100, 10, 3)),
        "vocab": _ids(rng, tokens),
    }


def _wordlevel(rng: random.Random, words: Sequence[str], _alphabet: Sequence[str]) -> Json:
    tokens = ["<unk>", *(word for word in words if not chance(rng, 0.3))]
    return {"type": "WordLevel", "unk_token": "<unk>", "vocab": _ids(rng, tokens)}


def _unigram(rng: random.Random, words: Sequence[str], alphabet: Sequence[str]) -> Json:
    pieces = _characters(rng, words, alphabet) + _substrings(rng, words, 300)
    byte_fallback = chance(rng, 0.4)
    if byte_fallback or chance(rng, 0.1):
        pieces += BYTE_TOKENS if chance(rng, 0.8) else BYTE_TOKENS[: int(rng.random() * 256)]
    pieces = ["<unk>", *(piece for piece in dict.fromkeys(pieces) if piece != "<unk>")]
    # Few digits make ties, which have a rule of their own.
    digits = pick(rng, (0, 1, 6, 12))
    scored = [[piece, round(-1 - 14 * rng.random(), digits)] for piece in pieces]
    scored[0][1] = 0.0
    return {
        "type": "Unigram",
        "unk_id": 0,
        "byte_fallback": byte_fallback,
        "vocab": scored,
    }
