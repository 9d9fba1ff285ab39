"""Texts: what is lost, what languages cost, what differs between training and serving."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jeton._core import TextBatch, Tokenizer
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.normalization import compare_texts, language_premiums, script_shares
from jeton.doctor.patient import Patient
from jeton.errors import EncodeError
from jeton.findings import Basis, Severity
from jeton.guard.scanning import scan_for, special_texts
from jeton.metrics.quality import CAUSES, told_causes

LARGE_PREMIUM = 3.0
"""A language counts as dear from this many tokens for one of English on. A choice of ours: current
tokenizers with 128,000 tokens and more keep most large languages below 2."""
_MIN_SHARE = 0.01
"""Share of the letters from which on a script counts as one that users write."""
_LOST_SHARE = 0.1
_MAX_TEXTS = 20_000


@known(
    id="languages-cost-more",
    area=Area.TEXT,
    severity=Severity.WARNING,
    name="other languages take many times the tokens of English",
    symptom="users of some languages hit limits, wait longer and cost more; their chats are cut "
    "early",
    cause="the vocabulary was trained on English above all: characters of other scripts fall into "
    "bytes, two or three tokens each",
    remedy="compare tokenizers on your own text (`jeton audit --tokenizer A --tokenizer B`). A "
    "model with a larger, newer vocabulary mends most of it. Until then size limits in tokens per "
    "language. Segmenting with spaces or transliterating does not help",
    needs=(EvidenceKind.TOKENIZER,),
    source=f"{LARGE_PREMIUM:g} tokens for one of English, on the same three sentences "
    "(languages.json)",
)
def _languages(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    try:
        premiums = language_premiums(patient.tokenizer, unknown_id=patient.role_token_id("unk"))
    except EncodeError:
        return
    shares = script_shares(patient.texts) if patient.texts else {}
    if patient.texts:
        wanted = [p for p in premiums if shares.get(p.language, 0.0) >= _MIN_SHARE]
    else:
        wanted = list(premiums)
    # Text that becomes unknown tokens looks cheap; unknown-tokens tells of it.
    lost = [p.language for p in wanted if p.unknown_share > _LOST_SHARE]
    dear = [p for p in wanted if p.premium >= LARGE_PREMIUM and p.language not in lost]
    if not dear:
        return
    shown = ", ".join(f"{p.language} {p.premium:.1f}x" for p in dear[:5])
    more = f" and {len(dear) - 5} more" if len(dear) > 5 else ""
    worst = dear[0]
    english = next(p for p in premiums if p.language == "English")
    yield Seen(
        what=f"{shown}{more} the tokens of English for the same sentences"
        + (f"; {', '.join(sorted(lost)[:4])} become unknown tokens" if lost else ""),
        where="your texts" if patient.texts else "the tokenizer",
        value=worst.premium,
        unit="tokens for one of English",
        formula=f"{worst.n_tokens:,} / {english.n_tokens:,} tokens",
        basis=Basis.ESTIMATED,
        # Without texts nobody knows if these languages are used.
        severity=Severity.WARNING if patient.texts else Severity.INFO,
        evidence={
            "premiums": {p.language: round(p.premium, 2) for p in premiums},
            "shares": {language: round(share, 4) for language, share in shares.items()},
            "unknown_to_the_tokenizer": lost,
        },
    )


@known(
    id="unknown-tokens",
    area=Area.TEXT,
    severity=Severity.WARNING,
    name="text becomes unknown tokens",
    symptom="names, emoji or whole languages vanish: the model sees [UNK], and so does search",
    cause="the vocabulary has neither these characters nor bytes to write them with",
    remedy="a tokenizer with byte fallback or byte-level BPE; for one model, normalize the text "
    "to what its vocabulary knows, and count what is left",
    needs=(EvidenceKind.TOKENIZER, EvidenceKind.TEXTS),
    source="0.1% of all tokens: a choice of ours",
)
def _unknown(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    unknown = patient.role_token_id("unk")
    if unknown is None:
        return
    n_unknown = n_tokens = 0
    first = None
    encoded = patient.tokenizer.encode_batch(list(patient.texts[:_MAX_TEXTS]))
    for index, ids in enumerate(encoded):
        n = int((ids == unknown).sum())
        if n and first is None:
            first = index
        n_unknown += n
        n_tokens += len(ids)
    if first is not None and n_unknown > 0.001 * n_tokens:
        yield Seen(
            what=f"{n_unknown / n_tokens:.1%} of all tokens are "
            f"{patient.token_text(unknown)!r} ({n_unknown:,} of {n_tokens:,})",
            where=f"text {first + 1} is the first",
            value=n_unknown / n_tokens,
            unit="of tokens",
            formula=f"{n_unknown:,} / {n_tokens:,}",
        )


@known(
    id="texts-do-not-come-back",
    area=Area.TEXT,
    severity=Severity.WARNING,
    name="decode(encode(text)) is another text",
    symptom="code loses indentation, quotes do not match their source, diffs do not apply",
    cause="the tokenizer normalizes text (case, accents, white space, compatibility characters) "
    "or has no token for some of it",
    remedy="to quote from the source use offsets (`tok.encode_with_offsets`), not decoded text; "
    "to generate code use a tokenizer that loses nothing (byte-level BPE)",
    needs=(EvidenceKind.TOKENIZER, EvidenceKind.TEXTS),
)
def _round_trip(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    texts = list(patient.texts[:_MAX_TEXTS])
    failed = []
    for text in texts:
        if len(text) > 1_000_000:
            continue
        try:
            back = patient.tokenizer.decode(patient.tokenizer.encode(text))
        except ValueError:
            back = ""
        if back != text:
            failed.append((text, back))
    if failed:
        text, back = failed[0]
        at = next(
            (i for i, (a, b) in enumerate(zip(text, back, strict=False)) if a != b),
            min(len(text), len(back)),
        )
        near = slice(max(0, at - 10), at + 20)
        causes = _causes(patient.tokenizer, [text for text, _ in failed])
        yield Seen(
            what=f"{len(failed):,} of {len(texts):,} texts, as {text[near]!r}, which becomes "
            f"{back[near]!r}: {told_causes(causes, unit='texts')}",
            where=f"text {texts.index(text) + 1} is the first",
            value=len(failed) / len(texts),
            unit="of texts",
            formula=f"{len(failed):,} / {len(texts):,}",
            evidence={"unreturned_by_cause": causes},
        )


def _causes(tokenizer: Tokenizer, texts: Sequence[str]) -> dict[str, int]:
    """Why texts do not come back; one that cannot be encoded has characters without a token."""
    sums = dict.fromkeys(CAUSES, 0)
    for text in texts:
        try:
            stats = tokenizer.measure(TextBatch.from_texts([text]), num_threads=1)
        except ValueError:
            sums["unknown"] += 1
            continue
        for cause, n in stats.unreturned_by_cause.items():
            sums[cause] += n
    return sums


@known(
    id="texts-normalized-differently",
    area=Area.TEXT,
    severity=Severity.ERROR,
    name="texts are prepared differently at training and at serving",
    symptom="the model is worse in production than in evaluation, most of all on accents, quotes, "
    "code and copied text",
    cause="a preprocessing step runs on one side only",
    remedy="put the step into the tokenizer's normalizer, or into one function that both sides "
    "import; test it with the same 20 strings on both sides",
    needs=(EvidenceKind.TEXTS, EvidenceKind.TRAINING_TEXTS),
    source="pairs: any step that explains them; else shares of texts that differ by more than 10 "
    "points and four standard errors",
)
def _normalized(patient: Patient) -> Iterator[Seen]:
    for difference in compare_texts(patient.training_texts, patient.texts):
        n_tokens = {}
        if patient.tokenizer is not None and difference.example is not None:
            a, b = difference.example
            n_tokens = {
                "tokens_at_training": patient.tokenizer.count(a),
                "tokens_at_serving": patient.tokenizer.count(b),
            }
        yield Seen(
            what=difference.what,
            where="texts at training against texts as served",
            value=difference.value,
            unit=difference.unit,
            basis=Basis.EXACT if difference.is_exact else Basis.ESTIMATED,
            severity=Severity.ERROR if difference.is_exact else Severity.WARNING,
            evidence={"step": difference.step, "example": difference.example, **n_tokens},
        )


@known(
    id="control-tokens-in-text",
    area=Area.TEXT,
    severity=Severity.WARNING,
    name="texts hold what looks like control tokens",
    symptom="answers stop early, roles change in the middle of a chat",
    cause="user text spells control tokens; a program that encodes with special tokens allowed "
    "makes control tokens of them",
    remedy="encode user text without special tokens (jeton's default), and chats by "
    "`jeton.chat.encode_chat`, which keeps the two apart",
    needs=(EvidenceKind.TOKENIZER, EvidenceKind.TEXTS),
)
def _control(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    own = special_texts(patient.tokenizer)
    found = [
        (index, token)
        for index, text in enumerate(patient.texts)
        if (token := _own_token(text, own)) is not None
    ]
    if found:
        yield Seen(
            what=f"{len(found):,} of {len(patient.texts):,} texts, as {found[0][1]!r}",
            where=f"text {found[0][0] + 1} is the first",
            value=len(found),
            unit="texts",
        )


def _own_token(text: str, own: frozenset[str]) -> str | None:
    findings = scan_for(text, own, max_kept=None).findings
    return next((f.payload for f in findings if f.payload in own), None)


@known(
    id="texts-hide-text",
    area=Area.TEXT,
    severity=Severity.WARNING,
    name="texts hold what no person sees",
    symptom="the model follows instructions that nobody can find, or words cost more tokens than "
    "they seem to have",
    cause="tag characters, variation selectors or rows of zero-width characters carry text or "
    "bits, or characters of direction show it in another order",
    remedy="`jeton guard scan --show` shows them; the step `guard` of `jeton preprocess` or "
    "`jeton.guard.enforce` takes them out",
    needs=(EvidenceKind.TEXTS,),
)
def _hidden(patient: Patient) -> Iterator[Seen]:
    groups = {"hidden-payload", "invisible", "bidi"}
    found = []
    for index, text in enumerate(patient.texts):
        grave = [
            finding
            for finding in scan_for(text, frozenset()).findings
            if finding.group in groups and finding.severity.rank > 0
        ]
        if grave:
            found.append((index, grave[0]))
    if found:
        index, first = found[0]
        yield Seen(
            what=f"{len(found):,} of {len(patient.texts):,} texts: {first.what}",
            where=f"text {index + 1} is the first",
            value=len(found),
            unit="texts",
        )
