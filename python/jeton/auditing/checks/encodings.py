"""Is text written in a form that costs more tokens than the same text in another?"""

from __future__ import annotations

from collections.abc import Iterator

from jeton.auditing.analyses.encoded_blobs import without_blobs
from jeton.auditing.analyses.escapes import (
    without_entities,
    without_nested_quotes,
    without_percent_escapes,
    without_unicode_escapes,
)
from jeton.auditing.analyses.mojibake import without_mojibake
from jeton.auditing.analyses.rewriting import chain
from jeton.auditing.analyses.unicode_forms import (
    composed,
    without_compatibility_characters,
    without_invisible_characters,
)
from jeton.auditing.checks.sampled import rewrite_finding
from jeton.auditing.evidence import Evidence
from jeton.findings import Finding

__all__ = [
    "MIN_SHARE",
    "MOJIBAKE_MIN_SHARE",
    "compatibility_characters",
    "encoded_data",
    "escaped_characters",
    "invisible_characters",
    "mojibake",
    "unicode_form",
]

MIN_SHARE = 0.01
"""Share of tokens from which these are told. Our choice, as for white space: the rewrite is cheap,
but below 1% it is not worth touching text."""


MOJIBAKE_MIN_SHARE = 0.001
"""Share of tokens from which garbled text is told. Our choice: lower than for other forms, because
garbled words are wrong as well as dear."""


def encoded_data(evidence: Evidence) -> Iterator[Finding]:
    """Base64, hexadecimal data and data URIs in the text."""
    yield from rewrite_finding(
        evidence,
        without_blobs,
        id="encoded-data",
        min_share=MIN_SHARE,
        what="data URIs, base64 from 64 characters and hexadecimal from 80 digits, each replaced "
        "by [data]",
        says="Data written as base64 or hexadecimal uses",
        cause="Pictures, keys, certificates or attachments are inside the text. They need many "
        "tokens, and a model can hardly read them.",
        do="Take attachments out before you build the prompt and keep their names, or send them "
        "as files if the model accepts files.",
    )


def escaped_characters(evidence: Evidence) -> Iterator[Finding]:
    r"""``\uXXXX``, character references, percent escapes, JSON inside a string."""
    yield from rewrite_finding(
        evidence,
        chain(
            without_nested_quotes,
            without_unicode_escapes,
            without_entities,
            without_percent_escapes,
        ),
        id="escaped-characters",
        min_share=MIN_SHARE,
        what="escapes written as the characters that they stand for",
        says="Escaped characters (such as \\u00e9 or &amp;) use",
        cause=r"A step writes JSON with escapes for all non-English letters (\u00e9), puts JSON "
        r"inside a JSON string (\"), or leaves HTML codes (&nbsp;) or percent codes in the text.",
        do="Decode the text before you build the prompt: json.dumps(value, ensure_ascii=False), "
        "html.unescape or urllib.parse.unquote.",
    )


def unicode_form(evidence: Evidence) -> Iterator[Finding]:
    """Decomposed characters where composed ones cost less."""
    yield from rewrite_finding(
        evidence,
        composed,
        id="unicode-form",
        min_share=MIN_SHARE,
        what="text in Unicode form NFC",
        says="Split accents (Unicode form NFD) use",
        cause="Letters and their accents are separate characters, as some PDF extractors and macOS "
        "file names write them. Vocabularies were made from text with combined letters.",
        do="Normalize to NFC before encoding: unicodedata.normalize('NFC', text). It is the same "
        "text.",
    )


def invisible_characters(evidence: Evidence) -> Iterator[Finding]:
    """Characters that nobody sees and that shape nothing."""
    yield from rewrite_finding(
        evidence,
        without_invisible_characters,
        id="invisible-characters",
        min_share=MIN_SHARE,
        what="soft hyphens, zero-width spaces, word joiners, byte-order marks and tag characters "
        "taken out (joiners of scripts and emoji stay)",
        says="Invisible characters use",
        cause="Web pages and word processors leave invisible marks in copied text. Some people add "
        "them to hide instructions or to pass filters.",
        do="Remove them before encoding. Find out where tag characters (U+E0000 and above) come "
        "from: they can spell text that only the model reads.",
    )


def compatibility_characters(evidence: Evidence) -> Iterator[Finding]:
    """Letters, digits and spaces that only look different."""
    yield from rewrite_finding(
        evidence,
        without_compatibility_characters,
        id="compatibility-characters",
        min_share=MIN_SHARE,
        what="letters and digits of full width and of mathematical alphabets, ligatures and "
        "special spaces as ordinary ones (NFKC of these characters alone)",
        says="Unusual forms of ordinary characters use",
        cause="Joined letters from PDFs, no-break spaces from web pages, full-width letters. "
        "A vocabulary has few tokens for them.",
        do="Replace these characters with their plain forms before encoding. Only the look is "
        "lost.",
    )


def mojibake(evidence: Evidence) -> Iterator[Finding]:
    """UTF-8 that was read as another code page."""
    yield from rewrite_finding(
        evidence,
        without_mojibake,
        id="mojibake",
        min_share=MOJIBAKE_MIN_SHARE,
        what="runs that are valid UTF-8 when written as Windows-1252, Latin-1, Windows-1251, Mac "
        "Roman or DOS, read as UTF-8; other code pages are not looked at",
        says="Text decoded with the wrong encoding uses",
        cause="An earlier step read UTF-8 as another encoding: 'é' became 'Ã©'.",
        do="Find the step with the wrong encoding and correct it. The model reads the wrong text "
        "too.",
    )
