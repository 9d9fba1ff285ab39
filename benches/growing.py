"""Time texts that grow: tiny segments of chats, and a long conversation that grows by a little.

A library that has no growing texts encodes everything again: what its users do today.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benches import record, texts, vocabularies
from benches.harness import DEFAULT_ROUNDS, Entry, Row, compare
from benches.machine import header
from benches.peers import ENCODERS, make_adapter
from benches.peers.base import Adapter, VocabularyFiles
from benches.peers.jeton_peer import JetonPeer

__all__ = ["main"]

VOCABULARY = "cl100k_base"
N_SEGMENTS = 1_000
SEGMENT_CHARS = 40
"""About ten tokens of English."""
CONVERSATION_TOKENS = 100_000
TURN_TOKENS = 200
GROWING = "jeton, growing text"
CAVEATS = (
    "a growing text is ready when the clock starts: what came before has been encoded, as in a "
    "conversation; its copy for each round is made outside the clock",
    "the other libraries encode the whole text again, in one call, for the ids after the growth",
    "1,000 segments that grow: all ids so far after each; others encode them again each time",
)


def _prose() -> str:
    sample = texts.samples(max_bytes=4_000_000)[0]
    return "\n".join(sample.documents)


def _segments(prose: str) -> list[str]:
    starts = range(0, N_SEGMENTS * SEGMENT_CHARS, SEGMENT_CHARS)
    return [prose[start : start + SEGMENT_CHARS] for start in starts]


def _check(expected: Sequence[int]) -> Callable[[Any], str | None]:
    wanted = np.asarray(expected, dtype=np.uint32)

    def check(found: Any) -> str | None:
        same = np.array_equal(np.asarray(found, dtype=np.uint32).reshape(-1), wanted)
        return None if same else "its ids differ"

    return check


def _compare(
    entries: Sequence[tuple[str, Callable[[], Any]]],
    expected: Sequence[int],
    n_bytes: int,
    rounds: int,
) -> list[Row]:
    check = _check(expected)
    timed = [Entry(name=name, run=run, check=check) for name, run in entries]
    return compare(timed, n_bytes=n_bytes, rounds=rounds)


def _conversation(ours: JetonPeer, peers: Sequence[Adapter], prose: str, rounds: int) -> list[Row]:
    """The ids after a long conversation has grown by a turn."""
    tokenizer = ours.tokenizer
    ids = tokenizer.encode_array(prose)
    before = tokenizer.decode(ids[:CONVERSATION_TOKENS])
    turn = tokenizer.decode(ids[CONVERSATION_TOKENS : CONVERSATION_TOKENS + TURN_TOKENS])
    base = tokenizer.grow(before)
    # One for the check, one for each round.
    forks = iter([base.fork() for _ in range(rounds + 1)])

    def grow() -> Any:
        growing = next(forks)
        grown = growing.append(turn)
        return grown.n_kept, grown.ids

    whole = before + turn
    expected = tokenizer.encode(whole)
    wanted = _check(expected)

    def check(found: tuple[int, Any]) -> str | None:
        kept, new = found
        return wanted([*expected[:kept], *new.tolist()])

    entries = [Entry(name=GROWING, run=grow, check=check)]
    for peer in [ours, *peers]:

        def again(peer: Adapter = peer) -> Any:
            return peer.encode_list(whole)

        entries.append(Entry(name=peer.name, run=again, check=wanted))
    return compare(entries, n_bytes=len(whole.encode()), rounds=rounds)


def _apart(
    ours: JetonPeer, peers: Sequence[Adapter], segments: list[str], rounds: int
) -> list[Row]:
    """Each segment by itself, one call for each."""
    expected = [id for segment in segments for id in ours.encode_list(segment)]
    entries: list[tuple[str, Callable[[], Any]]] = []
    for peer in [ours, *peers]:

        def each(peer: Adapter = peer) -> Any:
            return [id for segment in segments for id in peer.encode_list(segment)]

        entries.append((peer.name, each))
    n_bytes = sum(len(segment.encode()) for segment in segments)
    return _compare(entries, expected, n_bytes, rounds)


def _together(
    ours: JetonPeer, peers: Sequence[Adapter], segments: list[str], rounds: int
) -> list[Row]:
    """The ids of all segments so far, after each of them."""
    whole = "".join(segments)

    def grow() -> Any:
        growing = ours.tokenizer.grow()
        for segment in segments:
            growing.append(segment)
        return growing.ids

    entries: list[tuple[str, Callable[[], Any]]] = [(GROWING, grow)]
    for peer in [ours, *peers]:

        def again(peer: Adapter = peer) -> Any:
            ids: Any = []
            end = 0
            for segment in segments:
                end += len(segment)
                ids = peer.encode_list(whole[:end])
            return ids

        entries.append((peer.name, again))
    return _compare(entries, ours.encode_list(whole), len(whole.encode()), rounds)


def _peers(files: VocabularyFiles, names: Sequence[str]) -> list[Adapter]:
    loaded = []
    for name in names:
        try:
            adapter = make_adapter(name)
            adapter.load(files)
        except Exception as reason:  # a benchmark must survive its subjects
            print(f"{name}: {reason}", file=sys.stderr)
            continue
        loaded.append(adapter)
    return loaded


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="one round, a tenth of the segments")
    parser.add_argument("--record", action="store_true", help="keep the result")
    parser.add_argument("--library", action="append", help="may be repeated; jeton always runs")
    options = parser.parse_args(arguments)
    files = vocabularies.prepare(VOCABULARY, target=vocabularies.ROOT / "build" / "bench")
    if files is None:
        print(f"error: no file of {VOCABULARY}\nhint: set JETON_VOCAB_DIR", file=sys.stderr)
        return 2
    ours = JetonPeer()
    ours.load(files)
    names = [name for name in options.library or ENCODERS if name != "jeton"]
    peers = _peers(files, names)
    prose = _prose()
    segments = _segments(prose)[: N_SEGMENTS // 10 if options.quick else None]
    rounds = 1 if options.quick else DEFAULT_ROUNDS
    programs: tuple[tuple[str, Callable[[], list[Row]]], ...] = (
        (
            f"{CONVERSATION_TOKENS:,} tokens grow by {TURN_TOKENS}",
            lambda: _conversation(ours, peers, prose, rounds),
        ),
        (
            f"{len(segments):,} tiny segments, each apart",
            lambda: _apart(ours, peers, segments, rounds),
        ),
        (
            f"{len(segments):,} tiny segments, ids of all after each",
            lambda: _together(ours, peers, segments, rounds),
        ),
    )
    cases = []
    for name, measure in programs:
        cases.append(record.case(name, VOCABULARY, "prose", measure()))
        print(record.table(cases[-1]), flush=True)
    if options.record:
        head = header(
            kind="growing",
            command="make bench",
            distributions=[record.DISTRIBUTIONS[peer.name] for peer in [ours, *peers]],
            caveats=CAVEATS,
        )
        print(f"recorded: {record.write({**head, 'cases': cases}).name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
