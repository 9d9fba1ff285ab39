"""Kinds of remedies, as functions from requests to requests; analyses register them.

A remedy that needs somebody's choice (shorter answers, other chunks) has none: its finding names
the money at stake, and nothing is promised for it.

A prompt cache is replayed on the changed requests. The text of a prompt is cut at every message and
every 256 bytes; a chain of digests names what stands before each cut. A request reads up to the
last cut whose name an earlier request of the same model wrote or read within the lifetime, under
the provider's least length and steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer
from jeton.auditing.analyses.prefixes import mask_values
from jeton.auditing.analyses.rewriting import Rewrite
from jeton.auditing.evidence import Evidence
from jeton.auditing.replaying.prompts import NOT_TOOLS, Prompts
from jeton.auditing.replaying.requests import BilledRequests
from jeton.catalog.caches import CacheRule
from jeton.corpus.requests.blocks import BlockKind

CUT_CHARS = 256
"""Characters between two cuts inside a message: some 64 tokens, half a step of OpenAI's cache."""

READ_DISCOUNT = 0.5
"""Least part of the input price that a read saves with any provider (50% to 90%, 2026-11)."""

FIRST_TOKEN_SECONDS = 1.0
"""Seconds from a request until others can read what it writes: its answer has to begin
(platform.claude.com, prompt caching, read 2026-11-21). The second is our choice."""

_Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Cut:
    """A place in a prompt: the name of all before it, and the tokens up to it.

    Attributes:
        name: A digest of the text before it, as it is compared.
        counted: Counted tokens before it that stay there.
    """

    name: bytes
    counted: float


@dataclass(frozen=True, slots=True)
class ReplayedCache:
    """A cache whose marks stand where the openings end that requests share.

    Attributes:
        change: Change of a text before it is compared: the changed characters are moved behind the
            shared text. None: nothing is moved.
    """

    change: Callable[[str], str] | None = None

    def __call__(self, requests: BilledRequests) -> BilledRequests:
        """Return the requests with the reads and writes of the cheapest lifetime."""
        best, least = requests, requests.ledger().usd
        for number in range(max((len(rules) for rules in requests.rules), default=0)):
            changed = self._with_lifetime(requests, number)
            usd = changed.ledger().usd
            if usd < least:
                best, least = changed, usd
        return best

    def _with_lifetime(self, requests: BilledRequests, number: int) -> BilledRequests:
        columns = requests.columns
        stated = columns.cache_read_tokens
        read, written, hour = (
            np.maximum(values, 0)
            for values in (stated, columns.cache_write_tokens, columns.cache_write_1h_tokens)
        )
        as_they_are = _cuts(requests.prompts, None)
        moved = as_they_are if self.change is None else _cuts(requests.prompts, self.change)
        for place, choices in enumerate(requests.rules):
            rule = choices[min(number, len(choices) - 1)]
            own = requests.rule == place
            if rule.is_automatic and self.change is None:
                # It finds shared openings by itself: usage that states reads has them already.
                own = own & (stated < 0)
            for model in np.unique(columns.model[own]).tolist():
                rows = np.flatnonzero(own & (columns.model == model))
                new_read, new_written = _replay(requests, rows, moved, rule)
                if rule.is_automatic:
                    if self.change is not None:
                        # The provider may miss: only the difference of two replays is promised.
                        before, _ = _replay(requests, rows, as_they_are, rule)
                        new_read = read[rows] + np.maximum(new_read - before, 0)
                    new_written = written[rows]
                read[rows], written[rows] = new_read, new_written
                hour[rows] = new_written if rule.lifetime == "1h" else 0
        billed = np.maximum(columns.input_tokens, 0)
        read = np.minimum(read, billed)
        written = np.minimum(written, billed - read)
        return requests.with_cache(read, written, np.minimum(hour, written))


def replayed_cache(evidence: Evidence, *, masked: bool = False) -> ReplayedCache | None:
    """Return the cache as a remedy; None where the requests at hand are not all of them.

    Args:
        evidence: The measured figures.
        masked: True if digits and identifiers are moved behind the text that requests share.
    """
    if not evidence.sample.is_whole:
        return None
    return ReplayedCache(mask_values if masked else None)


def _cuts(prompts: Prompts, change: Callable[[str], str] | None) -> list[list[_Cut]]:
    """Return the cuts of each prompt, in order."""
    edges = prompts.offsets.tolist()
    tokens = prompts.tokens.tolist()
    found = []
    for first, last in pairwise(edges):
        name, counted = b"", 0.0
        own: list[_Cut] = []
        for block in range(first, last):
            text = prompts.texts[block]
            compared = text if change is None else change(text)
            per_char = tokens[block] / len(text) if text else 0.0
            for at in range(0, len(text), CUT_CHARS):
                piece = compared[at : at + CUT_CHARS]
                stays = len(piece)
                if change is not None:
                    stays -= sum(a != b for a, b in zip(piece, text[at:], strict=False))
                counted += per_char * stays
                digest = blake2b(name, digest_size=16)
                digest.update(piece.encode("utf-8", errors="surrogatepass"))
                name = digest.digest()
                own.append(_Cut(name, counted))
        found.append(own)
    return found


def _replay(
    requests: BilledRequests, rows: NDArray[np.intp], cuts: list[list[_Cut]], rule: CacheRule
) -> tuple[_Ints, _Ints]:
    """Return the tokens of each request that are read from the cache, and written to it."""
    times = requests.times[rows]
    order = np.lexsort((np.arange(len(rows)), np.nan_to_num(times, nan=np.inf))).tolist()
    own = [cuts[prompt] for prompt in requests.prompt[rows].tolist()]
    # The tokens in front of the text are part of every name.
    heads = requests.head[rows].tolist()
    slopes = requests.slope[rows].tolist()
    shared = Counter(
        (head, cut.name) for head, cuts_of in zip(heads, own, strict=True) for cut in cuts_of
    )
    read = np.zeros(len(rows), dtype=np.int64)
    written = np.zeros(len(rows), dtype=np.int64)
    useless: set[tuple[int, bytes]] = set()
    for _ in range(1 if rule.is_automatic else 2):
        read[:], written[:] = 0, 0
        alive: dict[tuple[int, bytes], float] = {}
        n_hits: Counter[tuple[int, bytes]] = Counter()
        n_written: Counter[tuple[int, bytes]] = Counter()
        for place in order:
            time = float(times[place])
            head, slope = heads[place], slopes[place]
            names = [(head, cut.name) for cut in own[place]]
            hit = next(
                (i for i in reversed(range(len(names))) if _is_alive(alive, names[i], time, rule)),
                -1,
            )
            n_read = 0 if hit < 0 else head + int(slope * own[place][hit].counted)
            n_read = n_read // rule.step_tokens * rule.step_tokens
            if n_read < rule.min_tokens:
                hit, n_read = -1, 0
            else:
                alive[names[hit]] = time
                n_hits[names[hit]] += 1
            read[place] = n_read
            if rule.is_automatic:
                alive.update(dict.fromkeys(names, time))
                continue
            mark = next(
                (
                    i
                    for i in reversed(range(hit + 1, len(names)))
                    if shared[names[i]] > 1 and names[i] not in useless
                ),
                -1,
            )
            if mark < 0:
                continue
            n_all = head + int(slope * own[place][mark].counted)
            if n_all >= rule.min_tokens:
                written[place] = max(0, n_all - n_read)
                alive[names[mark]] = time
                n_written[names[mark]] += 1
        # A mark whose writes cost more than its reads give is not set at all.
        useless = {
            name
            for name, n in n_written.items()
            if n_hits[name] * READ_DISCOUNT <= n * (rule.write_factor - 1)
        }
    return read, written


def _is_alive(
    alive: dict[tuple[int, bytes], float], name: tuple[int, bytes], time: float, rule: CacheRule
) -> bool:
    since = alive.get(name)
    if since is None:
        return False
    if not (np.isfinite(time) and np.isfinite(since)):
        return False
    return FIRST_TOKEN_SECONDS <= time - since <= rule.ttl_seconds


class Replayable(Protocol):
    """A remedy that can be carried out on logged requests."""

    def __call__(self, requests: BilledRequests) -> BilledRequests:
        """Return the requests as they would be sent and billed after the remedy."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A rewrite of the text in some kinds of blocks."""

    rewrite: Rewrite
    kinds: frozenset[BlockKind] = NOT_TOOLS

    def __call__(self, requests: BilledRequests) -> BilledRequests:
        """Return the requests with it."""
        return requests.with_prompts(requests.prompts.rewritten(self.rewrite, self.kinds))


@dataclass(frozen=True, slots=True)
class CountedWith:
    """Another tokenizer for the same text."""

    tokenizer: Tokenizer

    def __call__(self, requests: BilledRequests) -> BilledRequests:
        """Return the requests with it."""
        return requests.with_prompts(requests.prompts.counted_with(self.tokenizer))


def without_copies(requests: BilledRequests) -> BilledRequests:
    """Send the earliest of equal requests to one model alone.

    Requests whose answers differ in length are samples, or need a person's choice: all are sent.
    """
    columns = requests.columns
    texts: dict[str, int] = {}
    number = np.array([texts.setdefault(text, len(texts)) for text in requests.prompts.joined()])
    order = np.lexsort((np.arange(len(requests)), requests.times))
    same = np.stack(
        [number[requests.prompt], columns.model.astype(np.int64), columns.output_tokens], axis=1
    )
    _, first = np.unique(same[order], axis=0, return_index=True)
    kept = np.zeros(len(requests), dtype=np.bool_)
    kept[order[first]] = True
    # An answer of a gateway's cache was no use already.
    return requests.kept(kept | columns.from_gateway_cache)
