"""Generated text: broken characters, wrong encodings, tokens that show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jeton._core import Tokenizer
from jeton.doctor.checks.special import CONTROL_TEXT, stop_ids
from jeton.doctor.dumps import Output
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient
from jeton.errors import DecodeError
from jeton.findings import Severity
from jeton.guard.mojibake import from_windows_1252

_NEEDS = (EvidenceKind.OUTPUTS,)
_REPLACEMENT = "\ufffd"
_BEYOND_ASCII = re.compile("[^\x00-\x7f]+")


def _quoted(text: str, at: int, n: int = 12) -> str:
    return repr(text[max(0, at - n) : at + n])


def _shown(patient: Patient, found: Sequence[tuple[Output, str]]) -> Iterator[Seen]:
    """How many outputs have it, and what the first of them shows."""
    if found:
        output, text = found[0]
        yield Seen(
            what=f"{len(found):,} of {len(patient.outputs):,} outputs, as in {text!r}",
            where=output.where,
            value=len(found),
            unit="outputs",
        )


def _decoded(tokenizer: Tokenizer | None, output: Output) -> str | None:
    """The text of all ids at once; None where that cannot be told."""
    if tokenizer is None or output.ids is None:
        return None
    try:
        return tokenizer.decode(list(output.ids))
    except (DecodeError, OverflowError, TypeError):
        return None


@known(
    id="characters-split-in-streaming",
    area=Area.OUTPUT,
    severity=Severity.ERROR,
    name="characters are broken because tokens are decoded one by one",
    symptom="`\ufffd` (or two or three of them) in place of emoji, Chinese, accented letters; "
    "English looks fine",
    cause="one character may take several tokens; each of them decoded by itself is no UTF-8, and "
    "becomes U+FFFD",
    remedy="decode as a stream that holds back unfinished bytes: `stream = tok.decode_stream(); "
    "text = stream.push(id); ...; text += stream.flush()`. At the network, decode bytes "
    "incrementally, too (`codecs.getincrementaldecoder('utf-8')`)",
    needs=_NEEDS,
)
def _split(patient: Patient) -> Iterator[Seen]:
    found: list[tuple[Output, str]] = []
    for output in patient.outputs:
        pieces = output.pieces
        if pieces is not None and any(_broken_at_an_edge(piece) for piece in pieces):
            whole = _decoded(patient.tokenizer, output)
            if whole is None or _REPLACEMENT not in whole:
                found.append((output, "".join(pieces)))
            continue
        if output.text is not None and _REPLACEMENT in output.text:
            whole = _decoded(patient.tokenizer, output)
            if whole is not None and _REPLACEMENT not in whole:
                found.append((output, output.text))
    if found:
        output, text = found[0]
        at = text.find(_REPLACEMENT)
        proof = (
            "; all ids decoded at once give whole characters"
            if _decoded(patient.tokenizer, output) is not None
            else ""
        )
        yield Seen(
            what=f"{len(found):,} of {len(patient.outputs):,} outputs have U+FFFD, "
            f"as in {_quoted(text, at)}{proof}",
            where=output.where,
            value=len(found),
            unit="outputs",
        )


def _broken_at_an_edge(piece: str) -> bool:
    return piece.startswith(_REPLACEMENT) or piece.endswith(_REPLACEMENT)


@known(
    id="replacement-characters",
    area=Area.OUTPUT,
    severity=Severity.WARNING,
    name="characters that were lost",
    symptom="`\ufffd` in texts that are stored or shown",
    cause="bytes that are no UTF-8 were decoded: tokens one by one, a stream cut in the middle of "
    "a character by max_tokens, or a file in another encoding. The lost character cannot be "
    "restored",
    remedy="store ids or bytes and decode them at once; strip an unfinished character at the end "
    "of cut answers. Give the ids beside the text here, and the doctor tells the cause",
    needs=_NEEDS,
)
def _replacement(patient: Patient) -> Iterator[Seen]:
    found = []
    at_end = 0
    for output in patient.outputs:
        if output.text is None or _REPLACEMENT not in output.text:
            continue
        if output.pieces is not None and any(map(_broken_at_an_edge, output.pieces)):
            continue
        whole = _decoded(patient.tokenizer, output)
        if whole is not None and _REPLACEMENT not in whole:
            continue
        found.append(output)
        at_end += output.text.rstrip(_REPLACEMENT).count(_REPLACEMENT) == 0
    if not found:
        return
    text = found[0].text or ""
    only_ends = at_end == len(found)
    yield Seen(
        what=f"{len(found):,} of {len(patient.outputs):,} outputs have U+FFFD, as in "
        f"{_quoted(text, text.find(_REPLACEMENT))}" + (", all at their end" if only_ends else ""),
        where=found[0].where,
        value=len(found),
        unit="outputs",
        cause="generation stopped (max_tokens, a stop string) in the middle of a character"
        if only_ends
        else "",
    )


def _meant(text: str) -> str | None:
    """The first letters of a text that were read as Windows-1252, as they were meant."""
    runs = (from_windows_1252(run[0]) for run in _BEYOND_ASCII.finditer(text))
    return next((meant for meant in runs if meant is not None), None)


@known(
    id="wrong-encoding",
    area=Area.OUTPUT,
    severity=Severity.ERROR,
    name="UTF-8 was read as Windows-1252 or Latin-1",
    symptom="`\xc3\xa9` for `\xe9`, `\xe2\u20ac\u2122` for an apostrophe; token counts of such "
    "text are 2-3 times as high",
    cause="bytes were decoded with the locale's encoding instead of UTF-8, somewhere between "
    "model and reader, or already in the data that the model was trained on",
    remedy="open files with encoding='utf-8', set PYTHONUTF8=1, send `charset=utf-8`; stored "
    "texts can be mended by `text.encode('cp1252').decode('utf-8')`",
    needs=_NEEDS,
)
def _encoding(patient: Patient) -> Iterator[Seen]:
    found = [
        (o, meant)
        for o in patient.outputs
        if o.text is not None and (meant := _meant(o.text)) is not None
    ]
    if found:
        output, meant = found[0]
        yield Seen(
            what=f"{len(found):,} of {len(patient.outputs):,} outputs; the first should have "
            f"{meant[:20]!r}",
            where=output.where,
            value=len(found),
            unit="outputs",
        )


# GPT-2's alphabet writes a space as Ġ (U+0120) and a line feed as Ċ (U+010A); SentencePiece
# writes a space as U+2581; WordPiece marks a continued word with ##.
_ALPHABET = re.compile("(?:\u0120[^\\s\u0120]+){3}|\u010a\u010a|\u0120\\w+\u010a")
_LOWER_BLOCK = re.compile("(?:^|\\s)?(?:\u2581\\w+){3}")
_CONTINUED = re.compile(r"(?:\w ##\w+[^#]*){3}")


@known(
    id="tokens-shown-undecoded",
    area=Area.OUTPUT,
    severity=Severity.ERROR,
    name="tokens were joined instead of decoded",
    symptom="`\u0120Hello\u0120world\u010a`, `\u2581Hello\u2581world` or `tok ##en` in the output",
    cause="convert_ids_to_tokens gives the file's spelling of tokens, not text; joining them "
    "shows the byte alphabet",
    remedy="`tok.decode(ids)`, or convert_tokens_to_string",
    needs=_NEEDS,
)
def _undecoded(patient: Patient) -> Iterator[Seen]:
    found = []
    for output in patient.outputs:
        for pattern in (_ALPHABET, _LOWER_BLOCK, _CONTINUED):
            match = None if output.text is None else pattern.search(output.text)
            if match is not None:
                found.append((output, match.group()[:30]))
                break
    yield from _shown(patient, found)


@known(
    id="control-tokens-shown",
    area=Area.OUTPUT,
    severity=Severity.WARNING,
    name="control tokens show in the output",
    symptom="`<|im_end|>`, `</s>` or `<pad>` at the end of answers",
    cause="decoding keeps special tokens, or the token is not marked special, so that "
    "skip_special_tokens leaves it; or generation did not stop at it",
    remedy="decode(ids, skip_special_tokens=True), with the token marked special in "
    "tokenizer.json and listed in eos_token_id",
    needs=_NEEDS,
)
def _control(patient: Patient) -> Iterator[Seen]:
    special = set() if patient.tokenizer is None else set(patient.tokenizer.special_tokens)
    found = []
    for output in patient.outputs:
        if output.text is None:
            continue
        shown = [text for text in CONTROL_TEXT.findall(output.text) if text != "[INST]"]
        shown += [text for text in special if len(text) > 2 and text in output.text]
        if shown:
            found.append((output, shown[0]))
    yield from _shown(patient, found)


@known(
    id="generated-past-the-end",
    area=Area.OUTPUT,
    severity=Severity.WARNING,
    name="ids go on behind an end token",
    symptom="the answer is followed by a second one, or by the next question",
    cause="the end token is not among the ids at which generation stops, or rows of a batch were "
    "not cut at it after generation",
    remedy="list it in eos_token_id; cut each row at its first end token before decoding",
    needs=(EvidenceKind.OUTPUTS, EvidenceKind.TOKENIZER),
)
def _past_the_end(patient: Patient) -> Iterator[Seen]:
    ends = stop_ids(patient) | patient.role_ids("eos")
    ends |= frozenset() if patient.tokenizer is None else frozenset(patient.tokenizer.end_token_ids)
    ignored = ends | patient.role_ids("pad")
    found = []
    for output in patient.outputs:
        ids = output.ids or ()
        first = next((i for i, token in enumerate(ids) if token in ends), None)
        if first is not None and any(token not in ignored for token in ids[first + 1 :]):
            found.append((output, ids[first], len(ids) - first - 1))
    if found:
        output, token, n = found[0]
        yield Seen(
            what=f"{len(found):,} of {len(patient.outputs):,} outputs go on; the first has {n:,} "
            f"ids behind {patient.token_text(token)!r}",
            where=output.where,
            value=len(found),
            unit="outputs",
        )


@known(
    id="forbidden-tokens-generated",
    area=Area.OUTPUT,
    severity=Severity.WARNING,
    name="PAD, BOS or unused ids were generated in mid-sentence",
    symptom="gaps, `<pad>` or nothing at all in the middle of answers; sometimes an id that "
    "cannot be decoded",
    cause="the model met such tokens in mid-sequence in training (joined padded rows), or rows "
    "behind the vocabulary take part in sampling",
    remedy="add `tok.never_generated_bias(vocab_size=rows)` to the logits (EOS stays allowed); "
    "mend the training data (special-token-in-mid-sequence)",
    needs=(EvidenceKind.OUTPUTS, EvidenceKind.TOKENIZER),
)
def _forbidden(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    ends = stop_ids(patient) | patient.role_ids("eos")
    bars = (patient.role_ids("pad") | patient.role_ids("bos")) - ends
    is_token = patient.tokenizer.is_token_mask()
    found = []
    for output in patient.outputs:
        ids = list(output.ids or ())
        while ids and ids[-1] in bars | ends:
            ids.pop()
        for place, token in enumerate(ids):
            unknown = not (0 <= token < len(is_token) and is_token[token])
            # A first BOS belongs to the prompt.
            if unknown or (token in bars and place > 0):
                found.append((output, token, unknown))
                break
    if found:
        output, token, unknown = found[0]
        shown = f"id {token}, which has no token" if unknown else repr(patient.token_text(token))
        yield Seen(
            what=f"{len(found):,} of {len(patient.outputs):,} outputs have it inside, as {shown}",
            where=output.where,
            value=len(found),
            unit="outputs",
        )
