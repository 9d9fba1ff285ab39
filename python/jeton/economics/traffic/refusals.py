"""Requests that an engine would never admit, told from their lengths alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton.economics.traffic.outcome import TOO_LARGE, TOO_LONG
from jeton.economics.traffic.pool import PageBytes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["refusals"]


def refusals(
    prompts: NDArray[np.int64],
    outputs: NDArray[np.int64],
    *,
    pages: PageBytes,
    budget_bytes: int,
    context_tokens: int | None = None,
    reserved_tokens: int = 0,
) -> NDArray[np.uint8]:
    """Return for each request 0, or why it is refused: `TOO_LONG` or `TOO_LARGE`.

    Args:
        prompts: Tokens of the prompts.
        outputs: Tokens of the answers.
        pages: Pages of a sequence.
        budget_bytes: Memory for requests.
        context_tokens: The model's context; None: without end.
        reserved_tokens: Tokens reserved for each in one piece; 0: pages, as tokens come.
    """
    import numpy as np

    longest = prompts + outputs
    status = np.zeros(len(longest), dtype=np.uint8)
    if reserved_tokens:
        if pages.of(reserved_tokens) > budget_bytes:
            status[:] = TOO_LARGE
        status[longest > reserved_tokens] = TOO_LONG
    else:
        # The last token that is given is never read again: it needs no place.
        status[longest - (outputs > 0) > pages.most_tokens(budget_bytes)] = TOO_LARGE
    if context_tokens is not None:
        status[longest > context_tokens] = TOO_LONG
    return status
