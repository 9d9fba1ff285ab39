"""Forks while other threads run: the core has met NumPy before.

The core imports NumPy when the first array is made, inside a lock of the binding. A fork in that
moment would leave the lock taken in the child, for ever. So a fork waits for it, or does it first.
"""

from __future__ import annotations

import os
import sys

from jeton._core import TextBatch


def meet_before_forks() -> None:
    """Let each later fork find the binding's locks free."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_meet_numpy)


def _meet_numpy() -> None:
    # A process of one thread is in no lock: it forks as quickly as ever.
    if len(sys._current_frames()) > 1:
        TextBatch.from_texts(())
