"""Random tokenizer.json files beside `tokenizers`: any mixture of parts that it accepts.

Each seed gives one file. What Jeton refuses is counted by reason; what it loads must equal the
reference in ids, places and text. A difference is made smaller in its file as in its text.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import random
import re
from collections.abc import Iterator
from typing import Any

from tokenizers import Tokenizer as HfTokenizer
from tokenizers.pre_tokenizers import ByteLevel

from jeton._core import from_hf_json
from jeton.edge_texts import edge_texts
from jeton.errors import VocabularyError
from tests.differential import components
from tests.differential.harness import Pair, Refused, differs
from tests.differential.models import Json, byte_level_bpe, chance, pick, random_model
from tests.differential.references import hf_checks

BATCH_CASES = 200
"""Texts for each file."""
_SAMPLE_TEXTS = 150
_MAX_SAMPLE_CHARS = 200
_ATTEMPTS = 30
_MODELS = ("BPE", "BPE", "BPE", "WordPiece", "WordLevel", "Unigram", "Unigram")
_PARTS = ("post_processor", "decoder", "normalizer", "pre_tokenizer")
_MEMBERS = ("normalizers", "pretokenizers", "decoders", "processors")


def pair(seed: int) -> Pair:
    """The file of this seed. Raises `Refused` with Jeton's reason."""
    return _pair(json.dumps(tokenizer_json(seed)))


def byte_level_pair(seed: int) -> Pair:
    """Draw among byte-level BPE files alone, so that many cases fall on that family."""
    return _pair(json.dumps(tokenizer_json(seed, byte_level=True)))


def tokenizer_json(seed: int, *, byte_level: bool = False) -> Json:
    """A file that the reference accepts: what it refuses is drawn again."""
    for attempt in range(_ATTEMPTS):
        rng = random.Random(f"{seed} {attempt}")
        with contextlib.suppress(_NotAccepted):
            drawn = _draw(rng, only_byte_level=byte_level)
            _reference(drawn)
            return drawn
    raise AssertionError(f"no file in {_ATTEMPTS} attempts for seed {seed}")


class _NotAccepted(Exception):
    """The reference does not take a file, or fails where Jeton is not concerned."""


def _reference(file: Json) -> HfTokenizer:
    try:
        return HfTokenizer.from_str(json.dumps(file))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it panics on some mixtures, which is not an Exception
        raise _NotAccepted from error


def _draw(rng: random.Random, *, only_byte_level: bool) -> Json:
    file: Json = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": components.normalizer(rng),
        "pre_tokenizer": components.pre_tokenizer(rng),
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0}},
    }
    if only_byte_level:
        file["normalizer"] = pick(rng, (None, None, {"type": "NFC"}))
        file["pre_tokenizer"] = components.byte_level_pre_tokenizer(rng)
    pretokens = _pretokens(file, int(rng.random() * (1 << 40)))
    byte_level = "ByteLevel" in json.dumps([file["normalizer"], file["pre_tokenizer"]])
    alphabet = sorted(ByteLevel.alphabet()) if byte_level else list("abcdefghijklmnopqrstuvwxyz ")
    if only_byte_level:
        file["model"] = byte_level_bpe(rng, pretokens, alphabet)
    else:
        file["model"] = random_model(rng, pick(rng, _MODELS), pretokens, alphabet)
    affixes = ("continuing_subword_prefix", "end_of_word_suffix")
    if file["model"].get("byte_fallback") and any(file["model"].get(affix) for affix in affixes):
        # Documented: affixes spelled in bytes have places beyond their pretoken in the reference.
        file["model"]["byte_fallback"] = False
    vocab = file["model"]["vocab"]
    numbers = vocab if isinstance(vocab, dict) else {piece: i for i, (piece, _) in enumerate(vocab)}
    file["added_tokens"] = components.added_tokens(rng, numbers, len(numbers))
    normalizer = _reference({**file, "added_tokens": []}).normalizer
    found_as: set[str] = set()
    for token in file["added_tokens"]:
        # Documented: what normalization makes nothing of is not found, and of two that become
        # the same text the reference takes either, by chance.
        if normalizer is not None and token["normalized"]:
            left = normalizer.normalize_str(token["content"])
            token["normalized"] = bool(left) and left not in found_as
            found_as.add(left)
    if file["model"].get("ignore_merges"):
        # A documented choice: text that is a special token of the vocabulary stays text.
        for token in file["added_tokens"]:
            token["special"] = token["special"] and token["content"] not in numbers
    known = [(token["content"], token["id"]) for token in file["added_tokens"]]
    file["post_processor"] = components.post_processor(rng, known or list(numbers.items())[:3])
    matching = _matching_decoder(file)
    file["decoder"] = (
        matching if only_byte_level or (matching and chance(rng, 0.5)) else components.decoder(rng)
    )
    return file


def _matching_decoder(file: Json) -> Json | None:
    """The decoder that undoes the model's or the pre-tokenizer's marks, as published files have."""
    parts = json.dumps([file["normalizer"], file["pre_tokenizer"]])
    if "ByteLevel" in parts:
        return {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
    if file["model"]["type"] == "WordPiece":
        return {"type": "WordPiece", "prefix": "##", "cleanup": True}
    if "Metaspace" in parts:
        return {
            "type": "Metaspace",
            "replacement": "\u2581",
            "prepend_scheme": "always",
            "split": True,
        }
    return None


def _pretokens(file: Json, seed: int) -> list[str]:
    """Pretokens that the model of such a file will see."""
    reference = _reference(file)
    found: list[str] = []
    for text in itertools.islice(edge_texts(seed=seed, max_chars=32), _SAMPLE_TEXTS):
        if len(text) < _MAX_SAMPLE_CHARS:
            try:
                found += _pretokens_of(reference, text)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                raise _NotAccepted from error
    return found


def _pretokens_of(reference: HfTokenizer, text: str) -> list[str]:
    if reference.normalizer is not None:
        text = reference.normalizer.normalize_str(text)
    if reference.pre_tokenizer is None:
        return [text]
    parts = [part for part, _ in reference.pre_tokenizer.pre_tokenize_str(text)]
    # Tokens must cross the borders too, or a border in the wrong place would change no id.
    return parts + [left + right for left, right in itertools.pairwise(parts)]


def _pair(data: str) -> Pair:
    try:
        tokenizer = from_hf_json(data.encode())
    except VocabularyError as error:
        raise Refused(_reason(error)) from error
    return Pair(tuple(hf_checks(tokenizer, data.encode())), (tokenizer,), detail=data)


def _reason(error: Exception) -> str:
    """The first line without what differs from file to file."""
    line = str(error).split("\n", 1)[0]
    return re.sub(r"\d+", "N", line)[:160]


# Making a file smaller --------------------------------------------------------------------------


def simplify(data: str, check: str, text: str) -> tuple[str, Pair] | None:
    """Leave out what the difference does not need; None when nothing could be left out."""
    best: tuple[Json, Pair] | None = None
    file, smaller = json.loads(data), True
    while smaller:  # one change at a time, until none is possible
        smaller = False
        for candidate in _smaller(file):
            found = _still_differs(candidate, check, text)
            if found is not None:
                file, best, smaller = candidate, (candidate, found), True
                break
    return None if best is None else (json.dumps(best[0]), best[1])


def _still_differs(file: Json, check: str, text: str) -> Pair | None:
    try:
        found = _pair(json.dumps(file))
    except KeyboardInterrupt:
        raise
    except BaseException:  # refused by one of the two: not the difference that was found
        return None
    return (
        found if any(each.name == check and differs(each, text) for each in found.checks) else None
    )


def _smaller(file: Json) -> Iterator[Json]:
    """Files with one thing less, the largest things first."""
    for part in _PARTS:
        if file[part] is not None:
            yield {**file, part: None}
            for member in _MEMBERS:
                steps = file[part].get(member, [])
                if len(steps) == 1:
                    yield {**file, part: steps[0]}
                for at in range(len(steps) if len(steps) > 1 else 0):
                    rest = steps[:at] + steps[at + 1 :]
                    yield {**file, part: {**file[part], member: rest}}
    for at, token in enumerate(file["added_tokens"]):
        for flag in ("single_word", "lstrip", "rstrip", "normalized", "special"):
            if token[flag]:
                yield _with(file, ("added_tokens", at, flag), value=False)
    # Only the last one: ids of the others follow from their order.
    if file["added_tokens"]:
        yield {**file, "added_tokens": file["added_tokens"][:-1]}
    merges = file["model"].get("merges", [])
    size = len(merges) // 2
    while size:
        for start in range(0, len(merges), size):
            rest = merges[:start] + merges[start + size :]
            yield {**file, "model": {**file["model"], "merges": rest}}
        size //= 2
    for flag in ("fuse_unk", "byte_fallback", "ignore_merges"):
        if file["model"].get(flag):
            yield _with(file, ("model", flag), value=False)


def _with(file: Json, path: tuple[str | int, ...], *, value: Any) -> Json:
    changed = copy.deepcopy(file)
    target: Any = changed
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return changed
