"""Differences between two locks: in configuration, in behaviour, in money."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from jeton._shown import NotebookResult
from jeton.findings import Basis, Figure
from jeton.locking.behaviour import TextBehaviour
from jeton.locking.lock import Lock, LockedTokenizer
from jeton.locking.workload import LockedWorkload
from jeton.probe import probe_texts

_READABLE_CHARS = 120
"""Texts up to this length are shown first: a line of a terminal."""

_MAX_VALUE_CHARS = 160
"""Characters shown of a setting; the lock files have all of it."""


@dataclass(frozen=True, slots=True)
class ChangedText:
    """A text whose ids are others now.

    Attributes:
        text: The text.
        is_canary: True for one of the user's own, false for one of the probe.
        n_tokens_before: Its tokens; None: it could not be encoded.
        n_tokens_after: Its tokens now.
        pieces_before: How it was cut.
        pieces_after: How it is cut; equal to the former where only the numbers of ids changed.
    """

    text: str
    is_canary: bool
    n_tokens_before: int | None
    n_tokens_after: int | None
    pieces_before: tuple[str, ...]
    pieces_after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TokenizerDifference:
    """Differences of one tokenizer; of one that is on one side only, just that.

    Attributes:
        asked: The name or path of it.
        status: ``same``, ``changed``, ``added`` or ``removed``.
        settings: Name, value before and value now of each part that differs (JSON, cut short).
        files: Names of files that are others, new or gone.
        changed_texts: Texts with other ids, canaries first, then those with most more tokens.
        n_compared_texts: Texts that were compared.
        tokens_per_request: Tokens of a request before and now, on the workload; estimated by
            tokens a byte where its text is another one now, and by the ratio on the probe where it
            is gone; None without a workload.
        usd_per_year: Cost of the change in a year, more above 0; None where no price is known.
    """

    asked: str
    status: str
    settings: tuple[tuple[str, str, str], ...] = ()
    files: tuple[str, ...] = ()
    changed_texts: tuple[ChangedText, ...] = ()
    n_compared_texts: int = 0
    tokens_per_request: tuple[Figure, Figure] | None = None
    usd_per_year: Figure | None = None

    @property
    def is_behaviour_changed(self) -> bool:
        """True if any text has other ids."""
        return bool(self.changed_texts)


@dataclass(frozen=True, slots=True)
class LockDifference(NotebookResult):
    """Differences between two locks."""

    _table = "tokenizers"
    _line = ("tokenizers", "is_workload_same")

    tokenizers: tuple[TokenizerDifference, ...]
    libraries: tuple[tuple[str, str, str], ...]
    """Name, version before and version now (empty: not installed) of those that differ. They
    change nothing that Jeton does; what another library does with the same files may change."""
    is_workload_same: bool
    """True if the text of the workload is the same on both sides, so that money is exact."""

    @property
    def is_same(self) -> bool:
        """True if every tokenizer is what it was; versions of libraries do not count."""
        return all(tokenizer.status == "same" for tokenizer in self.tokenizers)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "schema_version": "jeton.lock-difference/1",
            "is_same": self.is_same,
            "is_workload_same": self.is_workload_same,
            "libraries": [
                {"name": name, "before": before, "after": after}
                for name, before, after in self.libraries
            ],
            "tokenizers": [_plain(tokenizer) for tokenizer in self.tokenizers],
        }


def compare_locks(before: Lock, after: Lock) -> LockDifference:
    """Compare two locks, tokenizer by tokenizer (by the name or path that was asked for)."""
    old = {tokenizer.asked: tokenizer for tokenizer in before.tokenizers}
    new = {tokenizer.asked: tokenizer for tokenizer in after.tokenizers}
    workloads = (before.workload, after.workload)
    found = []
    for asked in dict.fromkeys([*old, *new]):
        if asked not in new or asked not in old:
            status = "removed" if asked not in new else "added"
            found.append(TokenizerDifference(asked, status))
        else:
            canaries = (before.canaries, after.canaries)
            found.append(_difference(old[asked], new[asked], canaries, workloads))
    return LockDifference(
        tokenizers=tuple(found),
        libraries=tuple(
            (name, before.libraries.get(name, ""), after.libraries.get(name, ""))
            for name in sorted({*before.libraries, *after.libraries})
            if before.libraries.get(name) != after.libraries.get(name)
        ),
        is_workload_same=_is_same_text(*workloads),
    )


def _difference(
    old: LockedTokenizer,
    new: LockedTokenizer,
    canaries: tuple[tuple[str, ...], tuple[str, ...]],
    workloads: tuple[LockedWorkload | None, LockedWorkload | None],
) -> TokenizerDifference:
    changed, n_compared = _changed_texts(old, new, canaries)
    settings = _settings(old, new)
    files = _files(old, new)
    is_same = (
        old.fingerprint == new.fingerprint
        and old.probe_digest == new.probe_digest
        and not (settings or files or changed)
    )
    tokens = usd = None
    if old.fingerprint != new.fingerprint or changed:
        tokens, usd = _money(old, new, workloads)
    return TokenizerDifference(
        asked=old.asked,
        status="same" if is_same else "changed",
        settings=settings,
        files=files,
        changed_texts=changed,
        n_compared_texts=n_compared,
        tokens_per_request=tokens,
        usd_per_year=usd,
    )


def _changed_texts(
    old: LockedTokenizer,
    new: LockedTokenizer,
    canaries: tuple[tuple[str, ...], tuple[str, ...]],
) -> tuple[tuple[ChangedText, ...], int]:
    after = dict(zip(canaries[1], new.canary.texts, strict=True))
    pairs = [
        (text, True, was, after[text])
        for text, was in zip(canaries[0], old.canary.texts, strict=True)
        if text in after
    ]
    texts = probe_texts()
    # Another version of the probe has other texts: nothing to compare then.
    if len(old.probe.texts) == len(new.probe.texts) == len(texts):
        pairs += [
            (text, False, was, now)
            for text, was, now in zip(texts, old.probe.texts, new.probe.texts, strict=True)
        ]
    changed = [
        _changed(text, was, now, is_canary=is_canary)
        for text, is_canary, was, now in pairs
        if was.digest != now.digest or was.lengths != now.lengths
    ]
    # Long texts last: runs of one character grow most, and say least.
    changed.sort(
        key=lambda c: (
            not c.is_canary,
            len(c.text) > _READABLE_CHARS,
            -_growth(c),
            len(c.text),
            c.text,
        )
    )
    return tuple(changed), len(pairs)


def _changed(text: str, was: TextBehaviour, now: TextBehaviour, *, is_canary: bool) -> ChangedText:
    return ChangedText(
        text, is_canary, was.n_tokens, now.n_tokens, was.pieces(text), now.pieces(text)
    )


def _growth(changed: ChangedText) -> int:
    return abs((changed.n_tokens_after or 0) - (changed.n_tokens_before or 0))


def _settings(old: LockedTokenizer, new: LockedTokenizer) -> tuple[tuple[str, str, str], ...]:
    found = []
    for name in ("algorithm", "vocab_size"):
        a, b = getattr(old, name), getattr(new, name)
        if a != b:
            found.append((name, str(a), str(b)))
    if old.special_tokens != new.special_tokens:
        gone = [t for t in old.special_tokens if t not in new.special_tokens]
        come = [t for t in new.special_tokens if t not in old.special_tokens]
        found.append(("special_tokens", _shown(gone), _shown(come)))
    for name in sorted({*old.components, *new.components}):
        parts = (old.components.get(name), new.components.get(name))
        if parts[0] != parts[1]:
            found.append((name, _shown(parts[0]), _shown(parts[1])))
    return tuple(found)


def _files(old: LockedTokenizer, new: LockedTokenizer) -> tuple[str, ...]:
    """Files that are others; where neither lock could find any, there is nothing to say."""
    a = {file.name: file.sha256 for file in old.files}
    b = {file.name: file.sha256 for file in new.files}
    if not a or not b:
        return ()
    return tuple(name for name in sorted(a.keys() | b.keys()) if a.get(name) != b.get(name))


def _money(
    old: LockedTokenizer,
    new: LockedTokenizer,
    workloads: tuple[LockedWorkload | None, LockedWorkload | None],
) -> tuple[tuple[Figure, Figure] | None, Figure | None]:
    before, after = workloads
    if before is None or old.asked not in before.n_tokens:
        return None, None
    n_before = before.n_tokens[old.asked]
    source = f"{before.n_documents:,} documents of the lock's workload"
    mean = Decimal(n_before) / before.n_documents
    was = Figure(
        float(mean),
        "tokens per request",
        Basis.EXACT,
        f"{n_before:,} tokens / {before.n_documents:,} documents",
        source,
    )
    if after is not None and _is_same_text(before, after) and new.asked in after.n_tokens:
        n_after = after.n_tokens[new.asked]
        now_mean = Decimal(n_after) / before.n_documents
        basis, formula = Basis.EXACT, f"{n_after:,} tokens / {before.n_documents:,} documents"
    elif after is not None and after.n_bytes and before.n_bytes and after.n_tokens.get(new.asked):
        # The text moved on, but its tokens a byte are still those of the same kind of text.
        rates = (
            Decimal(n_before) / before.n_bytes,
            Decimal(after.n_tokens[new.asked]) / after.n_bytes,
        )
        now_mean = mean * rates[1] / rates[0] if n_before else Decimal(0)
        basis = Basis.ESTIMATED
        formula = (
            f"{float(mean):,.4f} tokens x {float(rates[1]):.6f} / {float(rates[0]):.6f} tokens a "
            "byte; the workload's text is not the one that was locked"
        )
    elif old.probe.n_tokens and new.probe.n_tokens:
        now_mean = mean * new.probe.n_tokens / old.probe.n_tokens
        basis = Basis.ESTIMATED
        formula = (
            f"{float(mean):,.4f} tokens x {new.probe.n_tokens:,} / {old.probe.n_tokens:,} tokens "
            "of the probe texts; the workload's files are not there"
        )
    else:
        return None, None
    now = Figure(float(now_mean), "tokens per request", basis, formula, source)
    traffic = before.traffic
    if traffic is None:
        return (was, now), None
    change = now_mean - mean
    usd = Figure(
        traffic.usd_per_year(change),
        "USD per year",
        basis,
        traffic.formula(change),
        f"{traffic.price_name}, {traffic.price_date}",
    )
    return (was, now), usd


def _is_same_text(before: LockedWorkload | None, after: LockedWorkload | None) -> bool:
    return (
        before is not None
        and after is not None
        and (before.text_digest, before.n_documents) == (after.text_digest, after.n_documents)
    )


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}..."


def _plain(tokenizer: TokenizerDifference) -> dict[str, Any]:
    tokens = tokenizer.tokens_per_request
    return {
        "asked": tokenizer.asked,
        "status": tokenizer.status,
        "settings": [
            {"name": name, "before": before, "after": after}
            for name, before, after in tokenizer.settings
        ],
        "files": list(tokenizer.files),
        "n_compared_texts": tokenizer.n_compared_texts,
        "changed_texts": [
            {
                "text": changed.text,
                "is_canary": changed.is_canary,
                "n_tokens_before": changed.n_tokens_before,
                "n_tokens_after": changed.n_tokens_after,
                "pieces_before": list(changed.pieces_before),
                "pieces_after": list(changed.pieces_after),
            }
            for changed in tokenizer.changed_texts
        ],
        "tokens_per_request_before": None if tokens is None else _figure(tokens[0]),
        "tokens_per_request_after": None if tokens is None else _figure(tokens[1]),
        "usd_per_year": (
            None if tokenizer.usd_per_year is None else _figure(tokenizer.usd_per_year)
        ),
    }


def _figure(figure: Figure) -> dict[str, Any]:
    value = figure.value
    return {
        "value": format(value, "f") if isinstance(value, Decimal) else value,
        "unit": figure.unit,
        "basis": str(figure.basis),
        "formula": figure.formula,
        "source": figure.source,
    }
