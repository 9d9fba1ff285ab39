"""Locks: what a tokenizer was and did, so that a change shows before it costs anything.

A lock file says of each tokenizer which files it came from, how it is configured (fingerprint and
components) and what it does (the ids of fixed texts, where it cut them), with the versions of
the libraries around it and, of a workload, the tokens and their price. `compare_locks` says what
differs between two locks, on which strings it shows, and what it costs.
"""

from __future__ import annotations

from jeton.locking.behaviour import Behaviour
from jeton.locking.comparing import ChangedText, LockDifference, TokenizerDifference, compare_locks
from jeton.locking.lock import LOCK_SCHEMA, Lock, LockedTokenizer, make_lock, remake
from jeton.locking.workload import LockedWorkload

__all__ = [
    "LOCK_SCHEMA",
    "Behaviour",
    "ChangedText",
    "Lock",
    "LockDifference",
    "LockedTokenizer",
    "LockedWorkload",
    "TokenizerDifference",
    "compare_locks",
    "make_lock",
    "remake",
]
