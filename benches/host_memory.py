"""Memory that is there before the clock runs.

The host of a virtual machine takes free memory back after some seconds, and finds it again when it
is touched: 5 ms for 2 MiB on the machine of the records, where the guest's own system takes 0.2 ms.
Which contender that hits is a matter of luck, so that it is done for each before it begins.
"""

from __future__ import annotations

import mmap

__all__ = ["touch"]

N_BYTES = 512 << 20
"""More than any contender has at the end of a first pass; 0.1 s where the host has it already."""
PAGE = 4096


def touch(n_bytes: int = N_BYTES) -> int:
    """Write to memory and give it back: the system takes first what was freed last (Linux only).

    Returns:
        How many pages were written to.
    """
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return 0
    with mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        n_pages = len(range(0, n_bytes, PAGE))
        memory[::PAGE] = b"\1" * n_pages
    return n_pages
