"""Checks against the published libraries: tiktoken, tokenizers, sentencepiece, and greedy matching.

Ids, places and text of one tokenizer beside those of its reference. Text decoded from ids is
compared for the ids of the text and for ids drawn at random, which no text would give.
"""

from __future__ import annotations

import ast
import base64
import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sentencepiece
import tiktoken
from tokenizers import Tokenizer as HfTokenizer

from jeton import Tokenizer
from tests.differential.harness import Check, Raised, Rows, Side, each_text

_MAX_DRAWN_IDS = 12
_OFFSETS_EVERY = 3
_DECODE_EVERY = 3


def our_ids(tokenizer: Tokenizer, **options: Any) -> Side:
    """Ids by `encode_batch`."""

    def side(texts: Sequence[str]) -> Rows:
        return tokenizer.encode_batch(texts, **options).to_lists()

    return side


def our_places(tokenizer: Tokenizer, **options: Any) -> Side:
    """(id, first, one past the last code point) of each token of the text."""

    def places(text: str) -> list[tuple[int, int, int]]:
        found = tokenizer.encode_with_offsets(text, **options)
        of_text = ~found.special_tokens_mask
        columns = (found.ids, found.starts, found.ends)
        return list(zip(*(column[of_text].tolist() for column in columns), strict=True))

    return each_text(places)


def drawn_ids(vocab_size: int, text: str) -> list[int]:
    """Ids drawn by the text: each text stands for one sequence, so that shrinking still works."""
    rng = random.Random(zlib.crc32(text.encode()))
    return [int(rng.random() * vocab_size) for _ in range(int(rng.random() * _MAX_DRAWN_IDS))]


def decode_checks(
    tokenizer: Tokenizer,
    encode: Callable[[str], list[int]],
    decode: Callable[[list[int]], str],
    *,
    drawable: Callable[[int], bool],
) -> list[Check]:
    """Text of the reference's ids, and of drawn ids that both know."""

    def drawn(text: str) -> list[int]:
        return [i for i in drawn_ids(tokenizer.vocab_size, text) if drawable(i)]

    return [
        Check(
            "decode",
            each_text(lambda text: tokenizer.decode(encode(text))),
            each_text(lambda text: decode(encode(text))),
            every=_DECODE_EVERY,
        ),
        Check(
            "decode drawn ids",
            each_text(lambda text: tokenizer.decode(drawn(text))),
            each_text(lambda text: decode(drawn(text))),
            every=_DECODE_EVERY,
        ),
    ]


# tiktoken ---------------------------------------------------------------------------------------


def read_ranks(data: bytes) -> dict[bytes, int]:
    """The ranks of a `.tiktoken` file."""
    pairs = (line.split() for line in data.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def tiktoken_checks(
    tokenizer: Tokenizer,
    *,
    ranks: Mapping[bytes, int],
    pattern: str,
    special_tokens: Mapping[str, int],
    normalize: Callable[[str], str] | None = None,
    first_rank: int = 0,
) -> list[Check]:
    """Ids with and without special tokens, and text.

    Args:
        tokenizer: Ours.
        ranks: Bytes to rank.
        pattern: The split pattern.
        special_tokens: Text to id.
        normalize: What the reference does to text before tiktoken sees it.
        first_rank: Added to ranks to give ids; special tokens keep theirs.
    """
    encoding = tiktoken.Encoding(
        "reference",
        pat_str=pattern,
        mergeable_ranks={token: rank + first_rank for token, rank in ranks.items()},
        special_tokens=dict(special_tokens),
    )
    prepare = normalize or (lambda text: text)

    def plain(text: str) -> list[int]:
        return encoding.encode_ordinary(prepare(text))

    checks = [Check("ids", our_ids(tokenizer), each_text(plain))]
    if special_tokens:
        checks.append(
            Check(
                "ids with special tokens",
                our_ids(tokenizer, allow_special="all"),
                each_text(lambda text: encoding.encode(prepare(text), allowed_special="all")),
                every=2,
            )
        )
    known = {rank + first_rank for rank in ranks.values()} | set(special_tokens.values())
    checks += decode_checks(tokenizer, plain, encoding.decode, drawable=known.__contains__)
    return checks


# tokenizers -------------------------------------------------------------------------------------


def hf_checks(tokenizer: Tokenizer, data: bytes) -> list[Check]:
    """Ids and places with special tokens as text and as tokens, with and without template; text."""
    source = data.decode()
    plain, special = HfTokenizer.from_str(source), HfTokenizer.from_str(source)
    plain.encode_special_tokens = True
    for reference in (plain, special):
        # `encode` does not do what a file wants of model inputs; that is asked for by itself.
        reference.no_truncation()
        reference.no_padding()
    return hf_object_checks(tokenizer, plain, special)


def _beyond_the_text(text: str, ours: Any, theirs: Any) -> bool:
    """Where tokenizers counts places on beyond the end of the text: ours end there."""
    if isinstance(ours, Raised) or isinstance(theirs, Raised):
        return False
    same_ids = [number for number, *_ in ours] == [number for number, *_ in theirs]
    return same_ids and any(end > len(text) for *_, end in theirs)


def hf_object_checks(
    tokenizer: Tokenizer,
    plain: HfTokenizer,
    special: HfTokenizer,
) -> list[Check]:
    """As `hf_checks`, for two tokenizers that exist; `plain` takes special tokens as text."""

    def ids(reference: HfTokenizer, *, template: bool) -> Side:
        def side(texts: Sequence[str]) -> Rows:
            found = reference.encode_batch_fast(list(texts), add_special_tokens=template)
            return [encoding.ids for encoding in found]

        return side

    def places(reference: HfTokenizer, *, template: bool = False) -> Side:
        def side(texts: Sequence[str]) -> Rows:
            found = reference.encode_batch(list(texts), add_special_tokens=template)
            # Tokens of the template have no place in the text.
            return [
                [
                    (i, *place)
                    for i, place, of_template in zip(
                        e.ids, e.offsets, e.special_tokens_mask, strict=True
                    )
                    if not of_template
                ]
                for e in found
            ]

        return side

    def encode(text: str) -> list[int]:
        found: list[int] = special.encode(text, add_special_tokens=False).ids
        return found

    def decode(tokens: list[int]) -> str:
        text: str = special.decode(tokens, skip_special_tokens=False)
        return text

    return [
        Check("ids", our_ids(tokenizer), ids(plain, template=False)),
        Check(
            "ids with special tokens",
            our_ids(tokenizer, allow_special="all"),
            ids(special, template=False),
            every=2,
        ),
        Check(
            "ids in the template",
            our_ids(tokenizer, allow_special="all", add_special_tokens=True),
            ids(special, template=True),
            every=5,
        ),
        Check(
            "places",
            our_places(tokenizer),
            places(plain),
            every=_OFFSETS_EVERY,
            known=_beyond_the_text,
        ),
        Check(
            "places with special tokens",
            our_places(tokenizer, allow_special="all"),
            places(special),
            every=_OFFSETS_EVERY,
            known=_beyond_the_text,
        ),
        Check(
            "places in the template",
            our_places(tokenizer, allow_special="all", add_special_tokens=True),
            places(special, template=True),
            every=5,
            known=_beyond_the_text,
        ),
        *decode_checks(
            tokenizer, encode, decode, drawable=lambda i: special.id_to_token(i) is not None
        ),
    ]


# sentencepiece ----------------------------------------------------------------------------------


def sentencepiece_checks(tokenizer: Tokenizer, data: bytes) -> list[Check]:
    """Ids, text and normalized text."""
    reference = sentencepiece.SentencePieceProcessor(model_proto=data)

    def ids(texts: Sequence[str]) -> Rows:
        found: Rows = reference.encode(list(texts), out_type=int, num_threads=1)
        return found

    def decode(tokens: list[int]) -> str:
        text: str = reference.decode(tokens)
        return text

    return [
        Check("ids", our_ids(tokenizer), ids),
        Check(
            "normalized text",
            each_text(tokenizer.normalize),
            each_text(reference.normalize),
            every=_DECODE_EVERY,
        ),
        *decode_checks(tokenizer, reference.encode, decode, drawable=lambda _: True),
    ]


# longest match ----------------------------------------------------------------------------------


def read_rwkv(data: bytes) -> dict[bytes, int]:
    """A vocabulary of lines `id literal length`; the literal is one of Python, text or bytes."""
    vocabulary = {}
    for line in data.decode().split("\n"):
        if line.strip():
            number, rest = line.split(" ", 1)
            literal, length = rest.rsplit(" ", 1)
            token = ast.literal_eval(literal)
            token = token if isinstance(token, bytes) else token.encode()
            if len(token) != int(length):
                raise ValueError(f"{literal} has {len(token)} bytes, the line says {length}")
            vocabulary[token] = int(number)
    return vocabulary


def longest_match_checks(tokenizer: Tokenizer, vocabulary: Mapping[bytes, int]) -> list[Check]:
    """Greedy: the longest token that the rest of the text begins with, again and again."""
    longest: dict[int, int] = {}
    for token in vocabulary:
        longest[token[0]] = max(longest.get(token[0], 0), len(token))
    tokens = {number: token for token, number in vocabulary.items()}

    def encode(text: str) -> list[int]:
        data, at, ids = text.encode(), 0, []
        while at < len(data):
            for length in range(longest[data[at]], 0, -1):
                found = vocabulary.get(data[at : at + length])
                # A slice at the end of the text may be shorter than asked.
                if found is not None:
                    ids.append(found)
                    at += min(length, len(data) - at)
                    break
            else:
                raise ValueError(f"no token begins with byte {data[at]}")
        return ids

    def decode(ids: list[int]) -> str:
        return b"".join(tokens[i] for i in ids).decode(errors="replace")

    return [
        Check("ids", our_ids(tokenizer), each_text(encode)),
        *decode_checks(tokenizer, encode, decode, drawable=tokens.__contains__),
    ]
