"""Encoding with a segmenter: the parts of pretokens are encoded one by one.

A tokenizer that was trained with a segmenter is a plain one: its file says nothing of the
segmenter, and everything that loads the file merges across the ends of parts where its merges
happen to do so. ``SegmentedTokenizer`` does not. Other libraries give the same result for the parts
themselves (``segments``), where they take text that is cut already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from jeton.errors import UsageError
from jeton.pretokenizing.segmenters import Segmenter, checked_parts, find_segmenter
from jeton.registry import TokenizerLike, resolve

_MOST_KNOWN: Final = 1 << 18
"""Pretokens whose ids are kept: about 100 MB in Python at most. When there are more, all go."""


class SegmentedTokenizer:
    """A tokenizer whose pretokens a segmenter cuts further.

    Example:
        >>> import jeton
        >>> lexicon = {"lowest": ["low", "est"], "newest": ["new", "est"]}
        >>> def cut(pretoken):
        ...     word = pretoken.strip()
        ...     space = pretoken[: len(pretoken) - len(word)]
        ...     first, *others = lexicon.get(word, [word])
        ...     return [space + first, *others]
        >>> texts = ["lowest newest low new"] * 9
        >>> inner = jeton.train(iter(texts), vocab_size=266, special_tokens=(), segmenter=cut)
        >>> tokenizer = SegmentedTokenizer(inner, segmenter=cut)
        >>> [inner.id_to_bytes(id) for id in tokenizer.encode(" newest")]
        [b' new', b'est']
    """

    def __init__(self, tokenizer: TokenizerLike, *, segmenter: str | Segmenter) -> None:
        """Wrap a tokenizer.

        Args:
            tokenizer: One that cuts text by a pattern and keeps all of it.
            segmenter: A function, or the name of a segmenter, as ``train`` takes it (but for
                ``morfessor`` without a file: it has nothing to learn from here).

        Raises:
            UsageError: The tokenizer is a SentencePiece model, or there is no such segmenter.
        """
        tokenizer = resolve(tokenizer)
        # Raises for models that know no pretokens.
        tokenizer.encode_pretoken(b"a")
        if "".join(tokenizer.pretokenize("a b")) != "a b":
            raise UsageError(
                "the tokenizer drops or rewrites text when it cuts it, so parts would not be the "
                "same text\nhint: train with a split pattern"
            )
        self.tokenizer = tokenizer
        self.segmenter = find_segmenter(segmenter)
        self._known: dict[str, list[int]] = {}

    def segments(self, text: str) -> list[str]:
        """The parts of all pretokens of a text: what ``tokenizers`` takes as pre-tokenized."""
        return [
            part
            for pretoken in self.tokenizer.pretokenize(text)
            for part in checked_parts(self.segmenter, pretoken)
        ]

    def encode(self, text: str) -> list[int]:
        """The ids of a text; no special tokens are added, and what looks like one stays text."""
        ids: list[int] = []
        for pretoken in self.tokenizer.pretokenize(text):
            known = self._known.get(pretoken)
            if known is None:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                known = [
                    id
                    for part in checked_parts(self.segmenter, pretoken)
                    for id in self.tokenizer.encode_pretoken(part.encode())
                ]
                self._known[pretoken] = known
            ids.extend(known)
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        return [self.encode(text) for text in texts]

    def count(self, text: str) -> int:
        """How many ids a text has."""
        return len(self.encode(text))

    def decode(self, ids: Sequence[int] | Any) -> str:
        """The text of ids: decoding knows no parts."""
        return self.tokenizer.decode(ids)
