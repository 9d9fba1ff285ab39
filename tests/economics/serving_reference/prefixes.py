"""Beginnings of prompts that stay in the KV cache for requests to come.

A prompt is cut into blocks; requests whose first blocks have the same numbers begin with the same
text. A block can be used from the end of the step that read it. While requests use it, it takes its
memory once; when the last has ended it stays, and counts as free: where memory is wanted, blocks
that nobody uses go, those least recently used first and of a request its last ones first (vLLM's
order: github.com/vllm-project/vllm/issues/2614, read 2026-11-22).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

__all__ = ["PrefixCache"]


class PrefixCache:
    """Blocks in use, by the number of their users, and blocks that nobody uses, in their order.

    Attributes:
        block_tokens: Tokens of a block.
        block_bytes: Memory of a block.
        n_shared: Uses of blocks beyond their first: blocks that would be there again without it.
    """

    __slots__ = ("_blocks", "_idle", "_mine", "_users", "block_bytes", "block_tokens", "n_shared")

    def __init__(
        self, blocks: Sequence[Sequence[int]], *, block_tokens: int, block_bytes: int
    ) -> None:
        self._blocks = blocks
        self.block_tokens, self.block_bytes = block_tokens, block_bytes
        self.n_shared = 0
        self._users: dict[int, int] = {}
        self._idle: OrderedDict[int, None] = OrderedDict()
        self._mine: dict[int, list[int]] = {}

    def find(self, i: int, prompt_tokens: int, context: int) -> tuple[int, int]:
        """Return how many of a request's first blocks are there, and how many of those are in use.

        At least one token of the context is left to be read: scores are computed at the last one.
        """
        blocks, users, idle = self._blocks[i], self._users, self._idle
        most = min(len(blocks), prompt_tokens // self.block_tokens)
        most = min(most, (context - 1) // self.block_tokens)
        n = in_use = 0
        while n < most:
            block = blocks[n]
            if block in users:
                in_use += 1
            elif block not in idle:
                break
            n += 1
        return n, in_use

    def take(self, i: int, n_blocks: int) -> None:
        """Let a request use its first blocks, which `find` found."""
        users, mine = self._users, list(self._blocks[i][:n_blocks])
        for block in mine:
            n = users.get(block, 0)
            users[block] = n + 1
            if n:
                self.n_shared += 1
            else:
                self._idle.pop(block, None)
        self._mine[i] = mine

    def store(self, i: int, prompt_tokens: int, start: int, end: int) -> None:
        """Keep the blocks that a request has read to their ends with tokens ``start`` to ``end``.

        A block that two requests read at the same time is kept once.
        """
        blocks, size = self._blocks[i], self.block_tokens
        last = min(len(blocks), min(end, prompt_tokens) // size)
        for k in range(start // size, last):
            block = blocks[k]
            if block not in self._users and block not in self._idle:
                self._users[block] = 1
                self._mine[i].append(block)

    def release(self, i: int) -> int:
        """Let a request go; return the bytes of its blocks that others still use."""
        users, idle = self._users, self._idle
        in_use = 0
        for block in reversed(self._mine.pop(i)):
            n = users[block] - 1
            if n:
                users[block] = n
                in_use += 1
            else:
                del users[block]
                idle[block] = None
        self.n_shared -= in_use
        return in_use * self.block_bytes

    def evict(self, free_bytes: int) -> None:
        """Forget blocks that nobody uses until the rest fit what is free."""
        idle = self._idle
        most = free_bytes // self.block_bytes
        while len(idle) > most:
            idle.popitem(last=False)
