"""``explain``: search, shrink, diagnose."""

from __future__ import annotations

from collections.abc import Iterable

from jeton._core import TextBatch
from jeton.errors import UsageError
from jeton.explaining.diagnosis import diagnose
from jeton.explaining.parts import canonical_tree, differing_parts
from jeton.explaining.result import By, Difference, Explanation, Pair, cut
from jeton.explaining.shrinking import Found, search, shrink, size
from jeton.probe import probe_digest
from jeton.progress import OnProgress
from jeton.registry import TokenizerLike, resolve

DEFAULT_N_CASES = 20_000
"""Texts of ``edge_texts`` that are tried: a second or two, and enough that each class of characters
and each way of mixing them comes up many times."""

_N_SHRUNK = 4
"""How many of the shortest texts that were found are made smaller; the smallest result is kept."""


def explain(
    a: TokenizerLike,
    b: TokenizerLike,
    *,
    texts: TextBatch | Iterable[str] | None = None,
    n_cases: int = DEFAULT_N_CASES,
    seed: int = 0,
    by: By = "ids",
    on_progress: OnProgress | None = None,
) -> Explanation:
    """Find a smallest text on which two tokenizers differ, and the component that causes it.

    The caller's texts come first, then the probe, ``edge_texts``, every token of either vocabulary,
    and at last texts in which special tokens are added and allowed. The found text is made as small
    as it gets: without any one of its characters there is no difference. Then the components of the
    two are exchanged one by one; the one that makes the difference go away is the cause.

    Args:
        a: The first tokenizer: its name, its path, or an object.
        b: The second.
        texts: Texts to try first; read as a stream.
        n_cases: How many generated texts to try.
        seed: Their seed: the same one gives the same texts.
        by: ``"ids"``, or ``"bytes"`` for vocabularies that number their tokens differently: then
            only the bytes of the tokens count.
        on_progress: Called now and then.

    Raises:
        UnknownTokenizerError: A name is not known.
        UsageError: A single string as ``texts``, or a negative ``n_cases``.
        InvalidTextError: One of the texts is not valid Unicode.

    Example:
        >>> import jeton
        >>> jeton.explain("jeton-general-32k", "jeton-code-32k").verdict
        'different'
    """
    if isinstance(texts, str | bytes):
        raise UsageError("texts is one string; expected a sequence of texts\nhint: texts=[text]")
    if n_cases < 0:
        raise UsageError(f"n_cases is {n_cases}; expected 0 or more")
    if by not in ("ids", "bytes"):
        raise UsageError(f"by is {by!r}; expected 'ids' or 'bytes'")
    a, b = resolve(a, argument="a"), resolve(b, argument="b")
    found: Found | None = None
    difference: Difference | None = None
    a_tree, b_tree = canonical_tree(a), canonical_tree(b)
    if a.fingerprint != b.fingerprint:
        ordinary = Pair(a, b, by=by, special=False)
        special = Pair(a, b, by=by, special=True)
        found = search(
            ordinary,
            special,
            () if texts is None else texts,
            n_cases=n_cases,
            seed=seed,
            on_progress=on_progress,
        )
        if found.texts:
            difference = _difference(found, a_tree, b_tree)
    return Explanation(
        verdict="same_fingerprint"
        if found is None
        else "no_difference_found"
        if difference is None
        else "different",
        by=by,
        n_texts=0 if found is None else found.n_texts,
        n_cases=n_cases,
        seed=seed,
        names=(a.name, b.name),
        fingerprints=(a.fingerprint, b.fingerprint),
        probe_digests=(probe_digest(a), probe_digest(b)),
        parts=tuple(differing_parts(a_tree, b_tree)),
        difference=difference,
    )


def _difference(found: Found, a_tree: object, b_tree: object) -> Difference:
    pair = found.pair
    shortest = sorted(found.texts, key=size)[:_N_SHRUNK]
    text, is_minimal = min(
        (shrink(text, pair.differing) for text in shortest), key=lambda result: size(result[0])
    )
    diagnosis = diagnose(pair, text, a_tree=a_tree, b_tree=b_tree)
    return Difference(
        text=text,
        is_minimal=is_minimal,
        source=found.source,
        special_tokens=pair.special,
        a=cut(pair.a, text, special=pair.special),
        b=cut(pair.b, text, special=pair.special),
        component=diagnosis.component,
        paths=diagnosis.paths,
        stage=diagnosis.stage,
        is_proven=diagnosis.is_proven,
        cause=diagnosis.cause,
        proof=diagnosis.proof,
        trials=diagnosis.trials,
    )
