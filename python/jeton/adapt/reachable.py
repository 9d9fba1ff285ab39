"""Tokens that no text becomes, although they are in the vocabulary."""

from __future__ import annotations

from collections.abc import Iterable

from jeton._core import Tokenizer
from jeton.adapt.segmenting import Segmenter
from jeton.adapt.written import WrittenTokenizer


def unreachable_tokens(tokenizer: Tokenizer, ids: Iterable[int]) -> list[int]:
    """Returns the ids whose own text is cut in another way by the model's rules.

    If BPE takes a whole pretoken for a token where there is one, only the merges count: other
    engines know nothing else.
    """
    written = WrittenTokenizer(tokenizer)
    if written.model.get("whole_pretokens"):
        written.model["whole_pretokens"] = False
        tokenizer = written.tokenizer()
    segmenter = Segmenter(tokenizer, written)
    return [id for id in ids if not segmenter.is_whole(id)]
