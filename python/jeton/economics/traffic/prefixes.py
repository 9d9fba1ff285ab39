"""Beginnings of prompts that stay in the KV cache for requests to come.

A prompt is cut into blocks; requests whose first blocks have the same numbers begin with the same
text. A block can be used from the end of the step that read it. While requests use it, it takes its
memory once; when the last has ended it stays, and counts as free: where memory is wanted, blocks
that nobody uses go, those least recently used first and of a request its last ones first (vLLM's
order: github.com/vllm-project/vllm/issues/2614, read 2026-11-22).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.memory_plan import PAGE_TOKENS
from jeton.economics.traffic.pool import PageBytes
from jeton.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.corpus.traces import Trace


class PromptBlocks(NamedTuple):
    """Blocks of all prompts.

    Attributes:
        offsets: Where the blocks of each prompt begin and end.
        numbers: Numbers of the blocks.
        block_tokens: Tokens of a block.
        block_bytes: Memory of a block.
    """

    offsets: NDArray[np.int64]
    numbers: NDArray[np.int64]
    block_tokens: int
    block_bytes: int

    @classmethod
    def made_of(
        cls, blocks: Sequence[Sequence[int]], *, block_tokens: int, block_bytes: int
    ) -> PromptBlocks:
        """The blocks of prompts, of which each is a list of numbers."""
        import numpy as np

        ends = np.cumsum([0, *map(len, blocks)], dtype=np.int64)
        numbers = np.fromiter((n for one in blocks for n in one), np.int64, int(ends[-1]))
        return cls(ends, numbers, block_tokens, block_bytes)

    @classmethod
    def of(cls, trace: Trace, pages: PageBytes, model: ModelFacts) -> PromptBlocks:
        """The blocks of a trace, each in whole pages.

        Raises:
            UsageError: The trace does not say which prompts begin alike, or the model keeps
                something else than the keys and values of every token.
        """
        if not trace.block_tokens:
            raise UsageError(
                f"{trace.path}: the trace does not say which prompts begin alike, so that nothing "
                "can be shared\nhint: replay it without the prefix cache, or give a trace with "
                "hash_ids, such as Mooncake's"
            )
        if pages.window or pages.state:
            raise UsageError(
                f"{model.name} has layers with a window or with a state; shared prefixes are "
                "simulated for models that keep all keys and values\nhint: replay the trace "
                "without the prefix cache"
            )
        n_pages = max(1, round(trace.block_tokens / pages.page_tokens))
        return cls.made_of(
            trace.prompt_blocks(),
            block_tokens=n_pages * pages.page_tokens,
            block_bytes=n_pages * pages.full,
        )


def check_prefixes(trace: Trace, model: ModelFacts, *, page_tokens: int = PAGE_TOKENS) -> None:
    """Say at once if prefixes of a trace cannot be shared on a model.

    Raises:
        UsageError: As `PrefixCache.of`.
    """
    PromptBlocks.of(trace, PageBytes(model, page_tokens=page_tokens), model)
