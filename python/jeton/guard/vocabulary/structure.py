"""Ids, merges and their order: what must be true of any vocabulary."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jeton._plain import counted
from jeton.guard.verdict import GuardLevel
from jeton.guard.vocabulary.source import Entry, VocabularyFinding, VocabularySource, found
from jeton.metrics.reachability import Category, reachability

MAX_DISORDER: Final = 0.01
"""Share of ids out of order up to which the order is a rule of the vocabulary, and the exceptions
are findings. Vocabularies whose ids follow no order have nearly all out of place."""

MAX_EXCHANGED: Final = 16
"""Ids out of order up to which they were exchanged by hand."""

MIN_ORDERED: Final = 100
"""Tokens from which on an order says anything."""


def structure_findings(source: VocabularySource) -> Iterator[VocabularyFinding]:
    """Yield the faults of lists: ids, merges, order, reachability."""
    if source.error:
        first = source.error.split("\n")[0]
        yield found(
            "does-not-load", GuardLevel.ERROR, f"the file makes no tokenizer: {first}", source.where
        )
    yield from _ids(source)
    yield from _merges(source)
    yield from _order(source)
    yield from _reachable(source)


def _named(entries: list[Entry]) -> list[str]:
    return [f"{entry.id} {entry.token!r}" for entry in entries]


def _ids(source: VocabularySource) -> Iterator[VocabularyFinding]:
    by_id: dict[int, list[Entry]] = defaultdict(list)
    by_token: dict[str, list[Entry]] = defaultdict(list)
    for entry in source.entries:
        by_id[entry.id].append(entry)
        by_token[entry.token].append(entry)
    added = {content: id_ for id_, content, _ in source.added}
    twice = [e for group in by_id.values() if len({one.token for one in group}) > 1 for e in group]
    # A program that loads the file may give an added token another id than the file states.
    given = [] if source.tokenizer is None else source.tokenizer.added_tokens
    taken = [
        (id_, content)
        for id_, content in sorted(
            {(id_, content) for id_, content, _ in source.added}
            | {(t.id, t.content) for t in given}
        )
        if id_ in by_id
        and all(
            e.token != content and e.token_bytes != content.encode("utf-8", "surrogatepass")
            for e in by_id[id_]
        )
    ]
    if twice or taken:
        yield found(
            "duplicate-id",
            GuardLevel.ERROR,
            f"{counted(len({e.id for e in twice} | {i for i, _ in taken}), 'id')} with two tokens",
            "vocabulary",
            ids=[*(e.id for e in twice), *(i for i, _ in taken)],
            examples=[*_named(twice), *(f"{i} {c!r}" for i, c in taken)],
        )
    same = [e for group in by_token.values() if len({one.id for one in group}) > 1 for e in group]
    again = [e for e in source.entries if e.token in added and added[e.token] != e.id]
    if same or again:
        yield found(
            "duplicate-token",
            GuardLevel.WARNING,
            f"{counted(len({e.token for e in (*same, *again)}), 'token')} with two ids",
            "vocabulary",
            ids=[*(e.id for e in same), *(e.id for e in again), *(added[e.token] for e in again)],
            examples=_named([*same, *again]),
        )
    used = {*by_id, *(id_ for id_, _, _ in source.added)}
    wrong = [e for e in source.entries if e.id < 0]
    if wrong:
        yield found(
            "id-out-of-range", GuardLevel.ERROR, counted(len(wrong), "negative id"), "vocabulary",
            ids=[e.id for e in wrong], examples=_named(wrong),
        )  # fmt: skip
    positive = sorted(id_ for id_ in used if id_ >= 0)
    if not positive:
        yield found("empty", GuardLevel.ERROR, "the vocabulary has no token", "vocabulary")
        return
    # A few ids far behind all others are out of range; holes before them would be millions.
    values = np.array(positive, dtype=np.int64)
    far = values[values >= 2 * len(values) + 1024]
    if len(far):
        yield found(
            "id-out-of-range",
            GuardLevel.ERROR,
            f"{len(far):,} ids lie far behind the {len(values) - len(far):,} others; the last is "
            f"{values[-1]:,}",
            "vocabulary",
            ids=far.tolist(),
        )
        values = values[: len(values) - len(far)]
    holes = np.setdiff1d(np.arange(int(values[-1]) + 1 if len(values) else 0), values)
    if len(holes):
        yield found(
            "id-hole",
            GuardLevel.INFO,
            f"{len(holes):,} ids below {int(values[-1]) + 1:,} have no token",
            "vocabulary",
            ids=holes.tolist(),
        )


def _merges(source: VocabularySource) -> Iterator[VocabularyFinding]:
    if source.merges is None:
        return
    known = {entry.token for entry in source.entries} | {content for _, content, _ in source.added}
    missing = [m for m in source.merges if m[0] not in known or m[1] not in known]
    bad = list(source.bad_merges)
    if missing or bad:
        yield found(
            "merge-part-missing",
            GuardLevel.ERROR,
            f"{counted(len(missing) + len(bad), 'merge')} of tokens that are not there",
            "merges",
            examples=[*(f"{a!r} + {b!r}" for a, b in missing), *bad],
            n=len(missing) + len(bad),
        )
    twice = [merge for merge, n in Counter(source.merges).items() if n > 1]
    if twice:
        yield found(
            "merge-twice",
            GuardLevel.WARNING,
            f"{counted(len(twice), 'merge')} listed twice",
            "merges",
            examples=[f"{a!r} + {b!r}" for a, b in twice],
            n=len(twice),
        )
    lost = [
        m
        for m in source.merges
        if m[0] in known and m[1] in known and not known.intersection((m[0] + m[1], _result(m)))
    ]
    if lost:
        yield found(
            "merge-result-missing",
            GuardLevel.ERROR,
            f"{counted(len(lost), 'merge')} to tokens that the vocabulary does not have",
            "merges",
            examples=[f"{a!r} + {b!r}" for a, b in lost],
            n=len(lost),
        )


def _result(merge: tuple[str, str]) -> str:
    """The merged token where inner pieces have WordPiece's mark, which is not doubled."""
    return merge[0] + merge[1].removeprefix("##")


def _order(source: VocabularySource) -> Iterator[VocabularyFinding]:
    ids, by = _in_order(source)
    if by == "merges":
        single = [e for e in source.entries if len(e.token) == 1]
        alphabet = min(
            (
                np.array([e.id for e in sorted(single, key=key)], dtype=np.int64)
                for key in (attrgetter("token"), attrgetter("token_bytes"))
            ),
            key=lambda ids: len(out_of_order(ids)),
        )
        if not len(out_of_order(alphabet)):
            # Then one order holds all, however few the merges are.
            ids = np.concatenate([alphabet, ids[~np.isin(ids, alphabet)]])
        else:
            yield from _disorder(source, alphabet, "characters")
    yield from _disorder(source, ids, by)


def _disorder(
    source: VocabularySource, ids: NDArray[np.int64], by: str
) -> Iterator[VocabularyFinding]:
    wrong = out_of_order(ids)
    is_rule = len(ids) >= MIN_ORDERED and len(wrong) <= max(2, MAX_DISORDER * len(ids))
    if not is_rule or not len(wrong):
        return
    names = {entry.id: entry.token for entry in source.entries}
    values = ids[wrong].tolist()
    # One that stands elsewhere is a token of its own; meanings are exchanged in pairs. A few pairs
    # among thousands in order are no accident.
    is_pair = np.array_equal(np.sort(ids)[wrong], np.sort(ids[wrong]))
    level = GuardLevel.WARNING if len(wrong) > 1 else GuardLevel.INFO
    yield found(
        "order",
        GuardLevel.ERROR if is_pair and 1 < len(wrong) <= MAX_EXCHANGED else level,
        f"{len(wrong):,} of {len(ids):,} ids do not follow the order of {by} that the rest follow",
        "vocabulary",
        ids=values,
        examples=[f"{id_} {names.get(id_, '')!r}" for id_ in values],
    )


def out_of_order(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of a sequence that keep it from rising.

    Where few values are exchanged, those are the places with another value than in the sorted
    sequence. Where a value was moved, all places between would differ so; then the places outside
    a longest rising subsequence are returned.

    Example:
        >>> out_of_order(np.array([1, 4, 3, 2, 5])).tolist()
        [1, 3]
    """
    exchanged = np.flatnonzero(ids != np.sort(ids))
    if len(exchanged) <= max(2, MAX_DISORDER * len(ids)):
        return exchanged
    tails: list[int] = []
    last: list[int] = []
    before = np.full(len(ids), -1, dtype=np.int64)
    values = ids.tolist()
    for place, value in enumerate(values):
        at = bisect_left(tails, value)
        if at:
            before[place] = last[at - 1]
        if at == len(tails):
            tails.append(value)
            last.append(place)
        else:
            tails[at], last[at] = value, place
    is_rising = np.zeros(len(ids), dtype=np.bool_)
    place = last[-1] if last else -1
    while place >= 0:
        is_rising[place] = True
        place = int(before[place])
    return np.flatnonzero(~is_rising)


def _in_order(source: VocabularySource) -> tuple[NDArray[np.int64], str]:
    """Ids in the order that training gave them: by merge, or by score."""
    id_of = {entry.token: entry.id for entry in source.entries}
    if source.merges:
        results = dict.fromkeys(
            id_of[token]
            for a, b in source.merges
            for token in ((a + b) if a + b in id_of else _result((a, b)),)
            if token in id_of
        )
        return np.fromiter(results, dtype=np.int64), "merges"
    scored = [e for e in source.entries if e.score is not None and e.score < 0]
    if scored:
        scores = np.array([e.score for e in scored])
        ids = np.array([e.id for e in scored], dtype=np.int64)
        return ids[np.argsort(-scores, kind="stable")], "scores"
    return np.zeros(0, dtype=np.int64), ""


def _reachable(source: VocabularySource) -> Iterator[VocabularyFinding]:
    if source.tokenizer is None:
        yield from _never_merged(source)
        return
    reach = reachability(source.tokenizer)
    single, multi = reach.ids(Category.UNREACHABLE_SINGLE), reach.ids(Category.UNREACHABLE_MULTI)
    ids = [*single.tolist(), *multi.tolist()]
    if ids:
        tok = source.tokenizer
        yield found(
            "unreachable",
            GuardLevel.INFO,
            f"{counted(len(ids), 'id')} that no text gives ({len(single):,} are always another id, "
            f"{len(multi):,} always several)",
            "vocabulary",
            ids=ids,
            examples=[f"{i} {tok.id_to_bytes(i)!r}" for i in ids[:20]],
        )


def _never_merged(source: VocabularySource) -> Iterator[VocabularyFinding]:
    """Tokens of several characters that no merge makes, where nothing can be encoded."""
    if not source.merges:
        return
    made = {token for a, b in source.merges for token in (a + b, _result((a, b)))}
    alone = [e for e in source.entries if len(e.token) > 1 and e.token not in made]
    if alone and len(alone) < len(source.entries) / 2:
        yield found(
            "unreachable",
            GuardLevel.INFO,
            f"{counted(len(alone), 'token')} that no merge makes",
            "vocabulary",
            ids=[e.id for e in alone],
            examples=_named(alone),
        )
