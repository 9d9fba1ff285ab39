"""Retrieval: what the embedding model never reads."""

from __future__ import annotations

from collections.abc import Iterator

from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient
from jeton.findings import Severity

_NEEDS = (EvidenceKind.TOKENIZER, EvidenceKind.EMBEDDER, EvidenceKind.TEXTS)


@known(
    id="embedder-truncates",
    area=Area.RETRIEVAL,
    severity=Severity.ERROR,
    name="the embedding model does not read whole chunks",
    symptom="text at the end of chunks is never found, though it is stored",
    cause="chunks are larger than the embedding model's limit; it cuts the rest off without a "
    "word. Chunk sizes were chosen in tokens of another tokenizer, or in characters",
    remedy="cut to the size that is recommended here, or measure chunks with the embedding "
    "model's own tokenizer, special tokens and prefix included; then index again",
    needs=_NEEDS,
)
def _truncates(patient: Patient) -> Iterator[Seen]:
    fit = patient.retrieval
    if fit is not None and fit.n_truncated:
        yield Seen(
            what=f"{fit.n_truncated:,} of {fit.n_chunks:,} chunks are cut off: "
            f"{fit.lost_share:.1%} of the text is never embedded; at most "
            f"{fit.safe_chunk_tokens:,} tokens of the reader fit",
            where=f"chunk {fit.worst[0][0] + 1} loses most, {fit.worst[0][1]:,} tokens",
            value=fit.truncated_share,
            unit="of chunks",
            formula=f"{fit.n_truncated:,} / {fit.n_chunks:,}",
            evidence=fit.to_dict(),
        )


@known(
    id="chunks-measured-in-other-tokens",
    area=Area.RETRIEVAL,
    severity=Severity.WARNING,
    name="the embedding model's tokens are much smaller or larger than those chunks are measured "
    "in",
    symptom="a chunk size that works for English prose loses text in tables, code or other "
    "languages; or half of the embedding model's input stays empty",
    cause="the two tokenizers cut the same text into very different numbers of tokens",
    remedy="measure chunks in tokens of the embedding model, and budgets for the language model "
    "in its own",
    needs=_NEEDS,
    source="one chunk in a hundred takes 1.5 times the tokens: a choice of ours",
)
def _ratio(patient: Patient) -> Iterator[Seen]:
    fit = patient.retrieval
    if fit is not None and fit.ratio_p99 >= 1.5:
        yield Seen(
            what=f"one token of the reader is {fit.ratio_median:.2f} of the embedder (median), "
            f"{fit.ratio_p99:.2f} in one chunk of a hundred",
            where="the two tokenizers",
            value=fit.ratio_p99,
            unit="tokens for one",
            evidence={"safe_chunk_tokens": fit.safe_chunk_tokens},
        )


@known(
    id="embedder-does-not-know-text",
    area=Area.RETRIEVAL,
    severity=Severity.WARNING,
    name="the embedding model reads unknown tokens",
    symptom="texts in some scripts, formulas or emoji are all near one another, or never found",
    cause="its vocabulary has no token for these characters, so that different texts become the "
    "same row of [UNK]",
    remedy="a multilingual embedding model; or keyword search beside the vectors",
    needs=_NEEDS,
    source="0.5% of its tokens: a choice of ours",
)
def _unknown(patient: Patient) -> Iterator[Seen]:
    fit = patient.retrieval
    if fit is not None and fit.n_unknown_tokens > 0.005 * fit.tokens_total:
        share = fit.n_unknown_tokens / fit.tokens_total
        yield Seen(
            what=f"{share:.1%} of its tokens are unknown ({fit.n_unknown_tokens:,})",
            where="the embedding model",
            value=share,
            unit="of tokens",
            formula=f"{fit.n_unknown_tokens:,} / {fit.tokens_total:,}",
        )


@known(
    id="embedder-normalizes-text",
    area=Area.RETRIEVAL,
    severity=Severity.INFO,
    name="the embedding model reads another text than the language model",
    symptom="`US` and `us`, `r\xe9sum\xe9` and `resume` are found alike; codes that differ in "
    "case cannot be told apart",
    cause="its tokenizer lowercases or strips accents, as uncased models do",
    remedy="fine for prose; where case or accents carry meaning, add keyword search or take a "
    "cased model",
    needs=_NEEDS,
)
def _normalizes(patient: Patient) -> Iterator[Seen]:
    fit = patient.retrieval
    if fit is not None and fit.n_normalized > 0.5 * fit.n_chunks:
        yield Seen(
            what=f"{fit.n_normalized:,} of {fit.n_chunks:,} chunks are changed before it reads "
            "them",
            where="the embedding model",
            value=fit.n_normalized / fit.n_chunks,
            unit="of chunks",
        )
