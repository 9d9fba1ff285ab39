"""A vocabulary whose tokens cross every border: a border in the wrong place shows in the ids.

Published vocabularies were trained behind their own split pattern: where a pattern cuts before a
character of which no token begins with a space, cutting elsewhere gives the same ids. Here the
training saw whole edge texts, uncut.
"""

from __future__ import annotations

import base64
import functools
import itertools

from jeton import TextBatch, Tokenizer, _core
from jeton._core import from_hf_json, from_tiktoken
from jeton.edge_texts import FRAGMENTS, edge_texts
from tests.core import makers
from tests.differential.harness import Pair
from tests.differential.references import hf_checks, tiktoken_checks

_VOCAB_SIZE = 6_000
_TRAINING_TEXTS = 20_000
_TRAINING_SEED = 20_26
SPECIAL = "<|end|>"


@functools.cache
def ranks() -> dict[bytes, int]:
    """Tokens and ranks, trained over texts as they are."""
    counts = _core.PretokenCounts(pattern=r"[\s\S]+")
    texts = [
        text
        for text in itertools.islice(edge_texts(seed=_TRAINING_SEED, max_chars=24), _TRAINING_TEXTS)
        if len(text) <= 24
    ]
    parts = [part for group in FRAGMENTS.values() for part in group]
    pairs = [left + right for left, right in itertools.product(parts[::3], parts[::5])]
    prose = [line for topic in makers.prose()[:6] for line in topic.split("\n")]
    counts.add(TextBatch.from_texts([*texts, *parts * 20, *pairs, *prose]))
    tokenizer = _core.train_bpe(counts, vocab_size=_VOCAB_SIZE, min_frequency=2)
    return {tokenizer.id_to_bytes(i): i for i in range(tokenizer.vocab_size)}


def tokenizer(pattern: str) -> Tokenizer:
    """Ours with this split pattern: a name or a regular expression."""
    data = b"\n".join(base64.b64encode(token) + b" %d" % rank for token, rank in ranks().items())
    return from_tiktoken(data, pattern=pattern, special_tokens={SPECIAL: len(ranks())})


def tiktoken_pair(name: str) -> Pair:
    """A published split pattern beside tiktoken."""
    ours = tokenizer(name)
    checks = tiktoken_checks(
        ours,
        ranks=ranks(),
        pattern=_core.published_patterns()[name],
        special_tokens=ours.special_tokens,
    )
    return Pair(tuple(checks), (ours,))


def hf_pair(name: str) -> Pair:
    """Write the pair as tokenizer.json, beside `tokenizers`."""
    data = tokenizer(name).to_hf_json()
    ours = from_hf_json(data)
    return Pair(tuple(hf_checks(ours, data)), (ours,), detail=data.decode())
