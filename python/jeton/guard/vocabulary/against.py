"""The full difference of a vocabulary to the one that it should be."""

from __future__ import annotations

import json
from collections.abc import Iterator

from jeton.guard.kinds import GuardLevel
from jeton.guard.vocabulary.findings import VocabularyFinding, found
from jeton.guard.vocabulary.source import VocabularySource


def base_findings(source: VocabularySource, base: VocabularySource) -> Iterator[VocabularyFinding]:
    """Yield each way in which a vocabulary differs from its base."""
    own = {**{e.token: e.id for e in source.entries}, **{c: i for i, c, _ in source.added}}
    old = {**{e.token: e.id for e in base.entries}, **{c: i for i, c, _ in base.added}}
    where = f"against {base.where}"
    moved = {
        token: (old[token], own[token])
        for token in own
        if token in old and old[token] != own[token]
    }
    if moved:
        swapped = [t for t, (before, now) in moved.items() if (now, before) in set(moved.values())]
        yield found(
            "differs-from-base",
            GuardLevel.CRITICAL,
            f"{len(moved):,} tokens have another id than in the base"
            + (f"; {len(swapped):,} of them were exchanged" if swapped else ""),
            where,
            ids=[now for _, now in moved.values()],
            examples=[f"{token!r}: {before}, now {now}" for token, (before, now) in moved.items()],
        )
    for words, names, values in (
        ("are new", sorted(own.keys() - old.keys()), own),
        ("are gone", sorted(old.keys() - own.keys()), old),
    ):
        if names:
            yield found(
                "differs-from-base",
                GuardLevel.WARNING,
                f"{len(names):,} tokens {words}",
                where,
                ids=[values[name] for name in names],
                examples=[f"{values[name]} {name!r}" for name in names],
            )
    if source.merges is not None and base.merges is not None and source.merges != base.merges:
        first = next(
            (n for n, (a, b) in enumerate(zip(source.merges, base.merges, strict=False)) if a != b),
            min(len(source.merges), len(base.merges)),
        )
        n_changed = len(set(source.merges) ^ set(base.merges))
        yield found(
            "differs-from-base",
            GuardLevel.ERROR,
            f"merges differ from number {first:,} on; {n_changed:,} stand on one side only",
            where,
            n=max(1, n_changed),
        )
    for name in ("normalizer", "pretokenizer", "decoder"):
        before, now = getattr(base, name), getattr(source, name)
        if json.dumps(before, sort_keys=True) != json.dumps(now, sort_keys=True):
            yield found("differs-from-base", GuardLevel.ERROR, f"the {name} is another", where, n=1)
    specials = {c for _, c, s in source.added if s} ^ {c for _, c, s in base.added if s}
    if specials:
        yield found(
            "differs-from-base",
            GuardLevel.WARNING,
            f"{len(specials):,} tokens are special on one side only",
            where,
            examples=[repr(one) for one in sorted(specials)],
        )
