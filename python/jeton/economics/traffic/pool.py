"""The memory of the KV cache, handed out in pages, in closed form over many steps.

A sequence takes a page whenever its context passes a multiple of the page's size. Sequences that
decode go one token a step, so which of them need a page at a step depends only on the step's number
modulo the page's size: sixteen sums say what any number of steps will take.
"""

from __future__ import annotations

from fractions import Fraction

from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.group_bytes import token_holds
from jeton.economics.serving.memory_plan import MemoryPlan
from jeton.economics.serving.weights import whole_bytes
from jeton.errors import UsageError


class PageBytes:
    """Bytes that sequences of one model take in pages.

    Layers with a sliding window keep no more pages than the window needs; where the plan has
    ``full_pages`` they are given pages for all tokens, as engines without an allocator for each
    kind of layer do.
    """

    __slots__ = ("full", "page_tokens", "state", "window", "window_pages")

    def __init__(
        self, model: ModelFacts, *, page_tokens: int, plan: MemoryPlan | None = None
    ) -> None:
        plan = plan or MemoryPlan()
        full = window = Fraction(0)
        longest = 0
        for most, one in token_holds(model, plan=plan).items():
            if most is None or plan.full_pages:
                full += page_tokens * one
            else:
                window += page_tokens * one
                longest = max(longest, most)
        self.page_tokens = page_tokens
        self.full = whole_bytes(full)
        """Bytes of a page in the layers that keep pages for all tokens."""
        self.window = whole_bytes(window)
        """Bytes of a page in the layers with one."""
        # A window that begins inside of a page reaches into one page more.
        self.window_pages = -(-longest // page_tokens) + 1
        """Pages that layers with a window hold at most."""
        self.state = plan.rules.state_of(model, plan)
        """Bytes that a sequence keeps whatever its length."""
        if self.full + self.window == 0:
            raise UsageError(
                f"{model.name} keeps no keys and values; there are no pages to hand out"
            )

    def of(self, context: int) -> int:
        """Bytes of a sequence of so many tokens."""
        pages = -(-context // self.page_tokens)
        if not self.window:
            return pages * self.full + self.state
        return pages * self.full + min(pages, self.window_pages) * self.window + self.state

    def growth(self, context: int) -> int:
        """Bytes of the next page of such a sequence."""
        pages = -(-context // self.page_tokens)
        return self.full + (self.window if pages < self.window_pages else 0)

    def most_tokens(self, budget_bytes: int) -> int:
        """The longest sequence that so many bytes hold; -1: not even an empty one."""
        rest = budget_bytes - self.state
        if rest < 0:
            return -1
        windowed = min(self.window_pages, rest // (self.full + self.window))
        if self.full == 0 and windowed == self.window_pages:
            return 1 << 62
        rest -= windowed * (self.full + self.window)
        beyond = rest // self.full if windowed == self.window_pages and self.full else 0
        return (windowed + beyond) * self.page_tokens
