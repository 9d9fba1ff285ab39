"""Locked prompts: hashes of each block of an agent's requests, so that a changed block shows.

Two runs of an agent are compared request by request. No call to a provider and no usage is needed:
what a prompt cache would lose begins at the first block that differs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from jeton._files import write_whole
from jeton._foreign import json_of
from jeton.corpus.requests import open_requests
from jeton.corpus.requests.sent import N_FACTS, path_of
from jeton.errors import FormatError

PROMPT_LOCK_SCHEMA = "jeton.prompt-lock/1"

MAX_REQUESTS = 10_000
"""Requests of a run that are locked."""

_MAX_FILE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class LockedBlock:
    """A block: its path, a hash of its text, and its bytes."""

    path: str
    digest: str
    n_bytes: int


@dataclass(frozen=True, slots=True)
class PromptLock:
    """The requests of a run, in their order.

    Attributes:
        requests: Blocks of each request.
    """

    requests: tuple[tuple[LockedBlock, ...], ...]

    def write(self, path: str) -> None:
        """Write the lock, whole or not at all."""
        plain = {
            "schema_version": PROMPT_LOCK_SCHEMA,
            "requests": [
                [[block.path, block.digest, block.n_bytes] for block in request]
                for request in self.requests
            ],
        }
        write_whole(path, json.dumps(plain, separators=(",", ":"), allow_nan=False) + "\n")

    @classmethod
    def read(cls, path: str) -> PromptLock:
        """Read a lock.

        Raises:
            FormatError: The file is no lock of prompts.
            OSError: It cannot be read.
        """
        hint = "hint: jeton lock --prompt RUN.jsonl -o F makes one"
        file = Path(path)
        if file.stat().st_size > _MAX_FILE_BYTES:
            raise FormatError(f"{path} is larger than a lock of prompts can be\n{hint}")
        try:
            plain: Any = json_of(file.read_bytes())
            if plain["schema_version"] != PROMPT_LOCK_SCHEMA:
                raise ValueError("another schema")
            requests = tuple(
                tuple(LockedBlock(str(p), str(d), int(n)) for p, d, n in request)
                for request in plain["requests"]
            )
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise FormatError(f"{path} is no lock of prompts ({error})\n{hint}") from error
        return cls(requests)


@dataclass(frozen=True, slots=True)
class ChangedBlock:
    """The first block of a request that is another one than in the locked run.

    Attributes:
        request: Number of the request, from 1.
        path: The block.
        kind: ``changed``, ``added``, ``removed``, ``order``, or ``request`` where one run has more
            requests.
        n_bytes_before: Bytes of the block in the lock.
        n_bytes_after: Bytes of it now.
        n_bytes_behind: Bytes of the request from there on: what a cache has to take in again.
    """

    request: int
    path: str
    kind: str
    n_bytes_before: int
    n_bytes_after: int
    n_bytes_behind: int


def lock_prompts(inputs: Sequence[str]) -> PromptLock:
    """Lock the requests of a run.

    Args:
        inputs: Logs of requests; usage is not needed.

    Raises:
        EmptyCorpusError: There is no request.
        CorpusError: A record cannot be read.
    """
    requests: list[tuple[LockedBlock, ...]] = []
    for batch in open_requests(list(inputs), num_processes=0):
        if batch.sent is None:
            continue
        for row in range(len(batch.sent)):
            if len(requests) < MAX_REQUESTS:
                requests.append(_blocks(batch.sent.of_request(row).tolist()))
    return PromptLock(tuple(requests))


def _blocks(words: list[int]) -> tuple[LockedBlock, ...]:
    found: list[LockedBlock] = []
    for digest, facts in zip(words[N_FACTS::2], words[N_FACTS + 1 :: 2], strict=True):
        size = facts & 0xFFFFFFFF
        if facts >> 42 & 1 and found:
            # A piece of a long block goes on the one before it.
            last = found[-1]
            found[-1] = LockedBlock(last.path, _joined(last.digest, digest), last.n_bytes + size)
            continue
        found.append(LockedBlock(path_of(facts >> 32 & 15, facts >> 43), f"{digest:016x}", size))
    return tuple(found)


def _joined(first: str, second: int) -> str:
    """Return one digest for a block of several pieces."""
    return f"{(int(first, 16) * 0x9E3779B97F4A7C15 + second) & (1 << 64) - 1:016x}"


def compare_prompts(locked: PromptLock, today: PromptLock) -> tuple[ChangedBlock, ...]:
    """Return the first changed block of each request that differs; nothing where none does."""
    changes = []
    for number, (old, new) in enumerate(zip_longest(locked.requests, today.requests), start=1):
        if old is None or new is None:
            before_n, after_n = (sum(b.n_bytes for b in own or ()) for own in (old, new))
            changes.append(
                ChangedBlock(number, "", "request", before_n, after_n, max(before_n, after_n))
            )
            continue
        for at, (before, after) in enumerate(zip_longest(old, new)):
            if before is not None and after is not None and before.digest == after.digest:
                continue
            behind = sum(block.n_bytes for block in new[at:])
            kind = "added" if before is None else "removed" if after is None else "changed"
            if before and after and before.path.startswith("tools"):
                tools = [
                    sorted(b.digest for b in own if b.path.startswith("tools"))
                    for own in (old, new)
                ]
                kind = "order" if tools[0] == tools[1] else kind
            path = (after or before).path
            changes.append(
                ChangedBlock(
                    number,
                    path,
                    kind,
                    before.n_bytes if before else 0,
                    after.n_bytes if after else 0,
                    behind,
                )
            )
            break
    return tuple(changes)
