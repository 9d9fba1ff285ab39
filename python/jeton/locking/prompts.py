"""Locked prompts: hashes of each block of an agent's requests, so that a change of them shows.

Beside its blocks a request has a model, marks of a cache, and parameters that end a prefix.

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

import numpy as np

from jeton._files import write_whole
from jeton._foreign import json_of
from jeton.corpus.requests import open_requests
from jeton.corpus.requests.sent import N_FACTS, changed_parameters, path_of
from jeton.errors import FormatError

PROMPT_LOCK_SCHEMA = "jeton.prompt-lock/2"

MAX_REQUESTS = 10_000
"""Requests of a run that are locked."""

_MAX_FILE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class LockedBlock:
    """A block: its path, a hash of its text, its bytes, and its mark (0: none; see `sent`)."""

    path: str
    digest: str
    n_bytes: int
    mark: int = 0


@dataclass(frozen=True, slots=True)
class LockedRequest:
    """A request.

    Attributes:
        blocks: Its blocks, in the order sent.
        model: The model asked for; empty: not stated.
        parameters: Hash of the parameters that end a prefix, and bits of each (`sent.packed`).
    """

    blocks: tuple[LockedBlock, ...]
    model: str = ""
    parameters: tuple[int, int] = (0, 0)

    @property
    def n_bytes(self) -> int:
        """Bytes of its blocks."""
        return sum(block.n_bytes for block in self.blocks)

    @property
    def n_bytes_marked(self) -> int:
        """Bytes up to its last mark, which a cache keeps."""
        ends = [at for at, block in enumerate(self.blocks, start=1) if block.mark]
        return sum(block.n_bytes for block in self.blocks[: max(ends, default=0)])


@dataclass(frozen=True, slots=True)
class PromptLock:
    """The requests of a run, in their order.

    Attributes:
        requests: Each request.
    """

    requests: tuple[LockedRequest, ...]

    def write(self, path: str) -> None:
        """Write the lock, whole or not at all."""
        plain = {
            "schema_version": PROMPT_LOCK_SCHEMA,
            "requests": [
                {
                    "model": request.model,
                    "parameters": request.parameters,
                    "blocks": [[b.path, b.digest, b.n_bytes, b.mark] for b in request.blocks],
                }
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
                LockedRequest(
                    tuple(
                        LockedBlock(str(p), str(d), int(n), int(m)) for p, d, n, m in one["blocks"]
                    ),
                    str(one["model"]),
                    (int(one["parameters"][0]), int(one["parameters"][1])),
                )
                for one in plain["requests"]
            )
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise FormatError(f"{path} is no lock of prompts ({error})\n{hint}") from error
        return cls(requests)


@dataclass(frozen=True, slots=True)
class ChangedBlock:
    """The first part of a request that is another one than in the locked run.

    Attributes:
        request: Number of the request, from 1.
        path: The block, ``model``, or the names of parameters; empty: the whole request.
        kind: ``changed``, ``added``, ``removed``, ``order``; ``mark added``, ``mark removed``,
            ``mark changed`` (its lifetime); ``request`` where one run has more requests.
        n_bytes_before: Bytes of it in the lock; of a mark, all that the marks let a cache keep.
        n_bytes_after: Its bytes now.
        n_bytes_behind: Bytes that a cache has to take in again; of a mark, that it keeps no more.
    """

    request: int
    path: str
    kind: str
    n_bytes_before: int
    n_bytes_after: int
    n_bytes_behind: int

    def __str__(self) -> str:
        """A sentence."""
        before, after, lost = self.n_bytes_before, self.n_bytes_after, self.n_bytes_behind
        if self.kind == "request":
            run = "the locked run" if before else "this run"
            return f"request {self.request}: only {run} has it ({max(before, after):,} bytes)"
        sizes = f"{before:,} bytes before, {after:,} now"
        if self.kind.startswith("mark"):
            return f"request {self.request}: {self.path} {self.kind}; a cache may keep {sizes}"
        return (
            f"request {self.request}: {self.path} {self.kind}, {sizes}; {lost:,} bytes may not be "
            "read from a cache"
        )


def lock_prompts(inputs: Sequence[str]) -> PromptLock:
    """Lock the requests of a run.

    Args:
        inputs: Logs of requests; usage is not needed.

    Raises:
        EmptyCorpusError: There is no request.
        CorpusError: A record cannot be read.
    """
    requests: list[LockedRequest] = []
    stream = open_requests(list(inputs), num_processes=0)
    for batch in stream:
        if batch.sent is None:
            continue
        columns = batch.columns
        models = np.where(columns.model_asked >= 0, columns.model_asked, columns.model).tolist()
        for row, model in enumerate(models[: MAX_REQUESTS - len(requests)]):
            words = batch.sent.of_request(row).tolist() or [0] * N_FACTS
            name = stream.models[model] if model >= 0 else ""
            requests.append(LockedRequest(_blocks(words), name, (words[0], words[3])))
    return PromptLock(tuple(requests))


def _blocks(words: list[int]) -> tuple[LockedBlock, ...]:
    found: list[LockedBlock] = []
    for digest, facts in zip(words[N_FACTS::2], words[N_FACTS + 1 :: 2], strict=True):
        size, mark = facts & 0xFFFFFFFF, facts >> 40 & 3
        if facts >> 42 & 1 and found:
            # A piece of a long block goes on the one before it.
            last = found[-1]
            whole = _joined(last.digest, digest)
            found[-1] = LockedBlock(last.path, whole, last.n_bytes + size, last.mark or mark)
            continue
        path = path_of(facts >> 32 & 15, facts >> 43)
        found.append(LockedBlock(path, f"{digest:016x}", size, mark))
    return tuple(found)


def _joined(first: str, second: int) -> str:
    """Return one digest for a block of several pieces."""
    return f"{(int(first, 16) * 0x9E3779B97F4A7C15 + second) & (1 << 64) - 1:016x}"


def compare_prompts(locked: PromptLock, today: PromptLock) -> tuple[ChangedBlock, ...]:
    """Return the first change of each request that differs; nothing where none does."""
    found = (
        _change(number, old, new)
        for number, (old, new) in enumerate(zip_longest(locked.requests, today.requests), start=1)
    )
    return tuple(change for change in found if change is not None)


def _change(
    number: int, old: LockedRequest | None, new: LockedRequest | None
) -> ChangedBlock | None:
    if old is None or new is None:
        sizes = [0 if own is None else own.n_bytes for own in (old, new)]
        return ChangedBlock(number, "", "request", sizes[0], sizes[1], sizes[1])
    whole = old.n_bytes, new.n_bytes, new.n_bytes
    if old.model != new.model:
        return ChangedBlock(number, "model", "changed", *whole)
    if old.parameters != new.parameters:
        names = changed_parameters(old.parameters[1], new.parameters[1])
        return ChangedBlock(number, ", ".join(names) or "parameters", "changed", *whole)
    for at, (before, after) in enumerate(zip_longest(old.blocks, new.blocks)):
        if before is not None and after is not None and before.digest == after.digest:
            if before.mark == after.mark:
                continue
            kept = old.n_bytes_marked, new.n_bytes_marked
            kind = "added" if not before.mark else "removed" if not after.mark else "changed"
            return ChangedBlock(
                number, after.path, f"mark {kind}", *kept, max(0, kept[0] - kept[1])
            )
        behind = sum(block.n_bytes for block in new.blocks[at:])
        kind = "added" if before is None else "removed" if after is None else "changed"
        if before and after and before.path.startswith("tools"):
            tools = [
                sorted(b.digest for b in own.blocks if b.path.startswith("tools"))
                for own in (old, new)
            ]
            kind = "order" if tools[0] == tools[1] else kind
        sizes = [block.n_bytes if block else 0 for block in (before, after)]
        return ChangedBlock(number, (after or before).path, kind, sizes[0], sizes[1], behind)
    return None
