"""Is text sent that was sent before: in other documents, or in the same one?"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from jeton.auditing.analyses.prefixes import shared_beginnings
from jeton.auditing.analyses.repetition import (
    boilerplate_lines,
    near_duplicates,
    overlaps,
    without_lines,
)
from jeton.auditing.analyses.rewriting import Rewrite
from jeton.auditing.checks.sampled import measure, saved
from jeton.auditing.evidence import Evidence, percent
from jeton.auditing.registry import (
    ANSWERS,
    CHUNKING,
    LIKE,
    LINES,
    LOSES,
    SERVICE,
    analysis,
    finding_of,
)
from jeton.auditing.replaying.prompts import WITHOUT_A_SPEAKER, Prompts
from jeton.auditing.replaying.remedies import Rewritten
from jeton.findings import Basis, Finding, Severity

MIN_BOILERPLATE_DOCUMENTS = 5
"""Different documents in which a line stands to be boilerplate. Our choice: four may be a
series."""

MIN_BOILERPLATE_DOCUMENT_SHARE = 0.02
"""Share of the documents, too, in large samples. Our choice: one in fifty is a template's."""

MIN_BOILERPLATE_SHARE = 0.02
"""Share of tokens from which boilerplate is told. Our choice: somebody has to look at the lines and
decide, which 1% would not repay."""


NEAR_RESEMBLANCE = 0.8
"""Jaccard index of five-word shingles from which documents are nearly the same: the value in use
for training data (Lee et al. 2022, arXiv:2107.06499)."""

MIN_NEAR_DUPLICATE_SHARE = 0.05
"""Share of tokens in documents that resemble an earlier one. Our choice: above exact copies (1%),
for a cache of answers to like questions has to be judged for every use."""

MIN_OVERLAP_SHARE = 0.02
"""Share of tokens that stand at the end of one document and the beginning of another. Our choice:
adjacent pages share a heading now and then."""

MIN_TEMPLATE_CHARS = 2_048
"""Characters of a shared beginning that is a template: a shorter one may be the text itself."""

_N_SHOWN = 8
_MAX_SHOWN_CHARS = 80


def boilerplate_of(prompts: Prompts) -> tuple[dict[str, int], Rewrite]:
    """Return lines that many passages or documents contain, and the rewrite that drops them.

    Instructions, turns of a conversation and questions are nobody's boilerplate.
    """
    places = np.flatnonzero(np.isin(prompts.kinds, [int(kind) for kind in WITHOUT_A_SPEAKER]))
    distinct = list(dict.fromkeys(prompts.texts[place] for place in places.tolist()))
    least = max(
        MIN_BOILERPLATE_DOCUMENTS, math.ceil(MIN_BOILERPLATE_DOCUMENT_SHARE * len(distinct))
    )
    lines = boilerplate_lines(distinct, min_documents=least)
    # A beginning that requests share is their instructions, whatever a cache makes of it.
    beginnings = shared_beginnings(distinct, min_documents=least) if lines else []
    starts = dict(zip(distinct, beginnings, strict=False))
    return lines, lambda text: without_lines(text, lines, start=starts.get(text, 0))


@analysis(
    "boilerplate",
    "Remove repeated lines",
    LINES,
    LOSES,
    replay=lambda finding, evidence: Rewritten(
        boilerplate_of(evidence.prompts)[1], WITHOUT_A_SPEAKER
    ),
)
def boilerplate(evidence: Evidence) -> Iterator[Finding]:
    """Lines that many documents contain, outside of what a prompt cache can serve."""
    lines, rewrite = boilerplate_of(evidence.prompts)
    if not lines:
        return
    documents = evidence.sample.documents
    measured = measure(evidence, rewrite, min_share=MIN_BOILERPLATE_SHARE, kinds=WITHOUT_A_SPEAKER)
    # Copies are the finding of another check: each text counts once.
    first_of = {document.text: index for index, document in reversed(list(enumerate(documents)))}
    is_first = np.zeros(len(documents), dtype=np.bool_)
    is_first[list(first_of.values())] = True
    result = saved(
        evidence,
        np.where(is_first, measured.saved_tokens, 0),
        f"{len(lines):,} lines of 40 and more characters that stand in different passages or "
        "documents, taken out; instructions, turns and questions stay, and so do beginnings that "
        "documents share",
        once=True,
    )
    if result.share < MIN_BOILERPLATE_SHARE:
        return
    shown = sorted(lines.items(), key=lambda item: (-item[1] * len(item[0]), item[0]))[:_N_SHOWN]
    yield finding_of(
        title=f"Lines that recur in many documents use {result.n_tokens:,} tokens, "
        f"{percent(result.share)} of all (the largest is in {shown[0][1]:,} documents)",
        value=result.n_tokens,
        basis=result.basis,
        formula=result.formula,
        cause="Menus, disclaimers, signatures or licence texts are in many documents. Instructions "
        "at the beginning, as a system prompt has them, are not counted.",
        remedy="Remove lines that tell the model nothing. Move instructions that must stay to the "
        "beginning of the prompt, before everything that changes.",
        **evidence.traffic.saving(result.n_tokens),
        evidence={
            "lines": [{"line": line[:_MAX_SHOWN_CHARS], "n_documents": n} for line, n in shown],
            "n_lines": len(lines),
            "share": result.share,
            "share_low": result.low,
            "share_high": result.high,
        },
    )


@analysis("near-duplicate-documents", "Send near copies once", SERVICE, LIKE)
def near_duplicate_documents(evidence: Evidence) -> Iterator[Finding]:
    """Documents with nearly the words of another one."""
    documents = evidence.sample.documents
    # Beginnings that requests share are alike by intention.
    texts = [document.text for document in documents]
    shared = shared_beginnings(texts, min_documents=MIN_BOILERPLATE_DOCUMENTS)
    starts = [n if n >= MIN_TEMPLATE_CHARS else 0 for n in shared]
    own = [text[n:] for text, n in zip(texts, starts, strict=True)]
    found = near_duplicates(own, min_resemblance=NEAR_RESEMBLANCE)
    saved_tokens = np.zeros(len(documents), dtype=np.int64)
    for pair in found:
        document = documents[pair.document]
        share = len(own[pair.document]) / max(1, len(document.text))
        saved_tokens[pair.document] = round(share * document.n_tokens)
    result = saved(
        evidence,
        saved_tokens,
        f"documents whose five-word shingles resemble an earlier document's by {NEAR_RESEMBLANCE} "
        "and more (Jaccard index), exact copies and shared beginnings not counted",
        once=True,
    )
    if result.share < MIN_NEAR_DUPLICATE_SHARE:
        return
    bound = "" if evidence.sample.is_whole else "At least "
    yield finding_of(
        severity=Severity.INFO,
        title=f"{bound}{percent(result.share)} of the tokens are in documents that are almost the "
        "same as another one",
        value=result.n_tokens,
        basis=result.basis,
        formula=result.formula
        + ("" if evidence.sample.is_whole else "; likenesses outside of the sample are not seen"),
        cause="A question comes again in other words, or a template is filled in again.",
        remedy="Put the changing parts at the end of the template and cache the rest, or store "
        "answers by meaning. In training data, keep one of each.",
        saving_usd_per_year=evidence.traffic.usd_per_year(result.n_tokens),
        saving_formula=evidence.traffic.formula(result.n_tokens)
        + "; if all of them were answered from a cache of your own"
        if evidence.traffic.is_priced
        else "",
        evidence={
            "n_documents": len(found),
            "share": result.share,
            "examples": [
                {
                    "text": own[pair.document][:_MAX_SHOWN_CHARS],
                    "like": own[pair.original][:_MAX_SHOWN_CHARS],
                    "resemblance": round(pair.resemblance, 3),
                }
                for pair in found[:_N_SHOWN]
            ],
        },
    )


@analysis("overlapping-documents", "Send overlapping text once", CHUNKING, ANSWERS)
def overlapping_documents(evidence: Evidence) -> Iterator[Finding]:
    """Documents that begin with the end of another one, as chunks with overlap do."""
    documents = evidence.sample.documents
    texts = [document.text for document in documents]
    saved_tokens = np.zeros(len(documents), dtype=np.int64)
    found = overlaps(texts)
    for overlap in found:
        document = documents[overlap.following]
        share = overlap.n_bytes / max(1, len(document.text.encode()))
        saved_tokens[overlap.following] = round(share * document.n_tokens)
    result = saved(
        evidence,
        saved_tokens,
        f"beginnings of {len(found):,} documents that are the end of another one (32 bytes and "
        "more), by their share of the document's bytes",
    )
    if result.share < MIN_OVERLAP_SHARE:
        return
    bound = "" if evidence.sample.is_whole else "at least "
    yield finding_of(
        title=f"{len(found):,} documents begin with the end of another one: {bound}"
        f"{percent(result.share)} of the tokens are sent twice",
        value=result.n_tokens,
        basis=Basis.ESTIMATED,
        formula=result.formula,
        cause="Documents were split into pieces that overlap.",
        remedy="Split at sentences and headings: that needs little overlap. Test retrieval with "
        "half "
        "of the overlap.",
        **evidence.traffic.saving(result.n_tokens),
        evidence={
            "n_documents": len(found),
            "mean_overlap_bytes": sum(o.n_bytes for o in found) / len(found),
            "share": result.share,
            "share_low": result.low,
            "share_high": result.high,
        },
    )
