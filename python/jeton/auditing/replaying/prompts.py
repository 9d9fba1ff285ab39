"""Prompts of a sample as blocks with tokens: the text that remedies change, one after another."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.auditing.analyses.rewriting import (
    N_EXAMPLES,
    NEIGHBOURS,
    Rewrite,
    RewriteSaving,
    first_difference,
)
from jeton.corpus.requests.blocks import BlockKind
from jeton.workload.sampling.deep_sample import SampleDocument

NOT_TOOLS = frozenset(kind for kind in BlockKind if kind is not BlockKind.TOOL)
"""Blocks whose text is known letter by letter: definitions of tools are written anew by readers."""

WITHOUT_A_SPEAKER = frozenset({BlockKind.PASSAGE, BlockKind.PROMPT})
"""Blocks that nobody said: neither instructions, nor a turn of the conversation, nor a question."""


@dataclass(frozen=True, slots=True, eq=False)
class Prompts:
    """Blocks of prompts.

    Attributes:
        texts: The text of each block.
        kinds: int8 (n_blocks,), values of `BlockKind`.
        offsets: int64 (n_prompts + 1,), the first block of each prompt.
        tokens: int64 (n_blocks,), tokens of each block.
        tokenizer: Counts them.
    """

    texts: tuple[str, ...]
    kinds: NDArray[np.int8]
    offsets: NDArray[np.int64]
    tokens: NDArray[np.int64]
    tokenizer: Tokenizer

    @classmethod
    def of(cls, documents: Sequence[SampleDocument], tokenizer: Tokenizer) -> Prompts:
        """Return the prompts of a sample, counted."""
        blocks = [document.blocks or ((BlockKind.PROMPT, document.text),) for document in documents]
        texts = tuple(text for own in blocks for _, text in own)
        return cls(
            texts,
            np.array([kind for own in blocks for kind, _ in own], dtype=np.int8),
            np.concatenate([[0], np.cumsum([len(own) for own in blocks])]).astype(np.int64),
            _counted(texts, tokenizer),
            tokenizer,
        )

    def __len__(self) -> int:
        """Number of prompts."""
        return len(self.offsets) - 1

    @property
    def prompt_of_block(self) -> NDArray[np.int64]:
        """int64 (n_blocks,), the prompt that each block belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def per_prompt(self) -> NDArray[np.int64]:
        """int64 (n_prompts,), tokens of each prompt."""
        sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.tokens)])
        tokens: NDArray[np.int64] = sums[self.offsets[1:]] - sums[self.offsets[:-1]]
        return tokens

    def rewritten(
        self,
        rewrite: Rewrite,
        kinds: Collection[BlockKind] = NOT_TOOLS,
        *,
        is_counted: bool = True,
    ) -> Prompts:
        """Return the prompts with blocks rewritten.

        Args:
            rewrite: From a text to the new text.
            kinds: Kinds of the blocks that it may touch.
            is_counted: False if the tokens of the changed blocks stay as they were.
        """
        wanted = np.isin(self.kinds, [int(kind) for kind in kinds])
        # Instructions and turns come again in request after request.
        known: dict[str, str] = {}
        texts = list(self.texts)
        changed = []
        for place in np.flatnonzero(wanted).tolist():
            text = texts[place]
            new = known.get(text)
            if new is None:
                new = known[text] = rewrite(text)[0]
            if new != text:
                texts[place] = new
                changed.append(place)
        if not changed:
            return self
        new_prompts = replace(self, texts=tuple(texts))
        return new_prompts.recounted(changed) if is_counted else new_prompts

    def measured(
        self,
        rewrite: Rewrite,
        *,
        kinds: Collection[BlockKind] = NOT_TOOLS,
        copies: Sequence[int],
        min_share: float = 0.0,
    ) -> RewriteSaving:
        """Return what a rewrite saves, prompt by prompt.

        Args:
            rewrite: From a text to the new text, and a bound on the bytes that it touched.
            kinds: Kinds of the blocks that it may touch.
            copies: Prompts of the workload that each stands for.
            min_share: Share of all tokens that must be at stake; below it nothing is counted anew.
        """
        touched: dict[str, int] = {}

        def noted(text: str) -> tuple[str, int]:
            new, touched[text] = rewrite(text)
            return new, touched[text]

        # A token has a byte at least: few touched bytes save few tokens, and need no count.
        after = self.rewritten(noted, kinds, is_counted=False)
        places = [i for i, (a, b) in enumerate(zip(self.texts, after.texts, strict=True)) if a != b]
        owner = self.prompt_of_block
        n_prompts = len(set(owner[places].tolist()))
        weights = np.asarray(copies, dtype=np.int64)
        n_touched = sum(touched[self.texts[i]] * int(weights[owner[i]]) for i in places)
        saved = np.zeros(len(self), dtype=np.int64)
        if not places or NEIGHBOURS * n_touched < min_share * (weights * self.per_prompt()).sum():
            return RewriteSaving(n_prompts, saved, ())
        saved = self.per_prompt() - after.recounted(places).per_prompt()
        examples = [first_difference(self.texts[i], after.texts[i]) for i in places[:N_EXAMPLES]]
        return RewriteSaving(n_prompts, saved, tuple(examples))

    def recounted(self, places: Sequence[int]) -> Prompts:
        """Return the prompts with the tokens of some blocks counted anew."""
        tokens = self.tokens.copy()
        tokens[places] = _counted([self.texts[place] for place in places], self.tokenizer)
        return replace(self, tokens=tokens)

    def counted_with(self, tokenizer: Tokenizer) -> Prompts:
        """Return the same text under another tokenizer."""
        return replace(self, tokens=_counted(self.texts, tokenizer), tokenizer=tokenizer)

    def joined(self, change: Callable[[str], str] = lambda text: text) -> list[str]:
        """Return each prompt as one text."""
        edges = self.offsets.tolist()
        return [
            "\n".join(change(text) for text in self.texts[start:end])
            for start, end in pairwise(edges)
        ]


def _counted(texts: Sequence[str], tokenizer: Tokenizer) -> NDArray[np.int64]:
    places: dict[str, int] = {}
    which = np.array([places.setdefault(text, len(places)) for text in texts], dtype=np.intp)
    counts = tokenizer.count_batch(TextBatch.from_texts(list(places))).astype(np.int64)
    return counts[which] if len(which) else np.zeros(0, dtype=np.int64)
