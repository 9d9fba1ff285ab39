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
from jeton.auditing.analyses.rewriting import chain
from jeton.auditing.analyses.unicode_forms import (
    composed,
    without_compatibility_characters,
    without_invisible_characters,
    without_mojibake,
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
        says="data written as base64 or hexadecimal costs",
        cause="pictures, keys, certificates or attachments stand in the text; a vocabulary has no "
        "words for them, and a model can hardly read them",
        do="take attachments out before the prompt is built, or pass them as files where the model "
        "takes files; keep a name in their place",
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
        says="escaped characters cost",
        cause=r"JSON was written with escapes for everything beyond ASCII (\u00e9), or JSON stands "
        r"inside a JSON string (\"), or references of HTML (&nbsp;) or percent escapes were left",
        do="decode before the prompt is built: json.dumps(value, ensure_ascii=False), "
        "html.unescape, urllib.parse.unquote; embed JSON as JSON instead of as a string",
    )


def unicode_form(evidence: Evidence) -> Iterator[Finding]:
    """Decomposed characters where composed ones cost less."""
    yield from rewrite_finding(
        evidence,
        composed,
        id="unicode-form",
        min_share=MIN_SHARE,
        what="text in Unicode form NFC",
        says="decomposed accents (Unicode form NFD) cost",
        cause="letters and their accents are separate characters, as macOS file names and some PDF "
        "extractors write them; vocabularies were trained on composed text",
        do="normalize to NFC before encoding (unicodedata.normalize('NFC', text)); to Unicode both "
        "are the same text",
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
        says="invisible characters cost",
        cause="web pages and word processors leave break hints and marks in copied text; some put "
        "them there to hide instructions or to get past filters",
        do="take them out before encoding; look at where tag characters (U+E0000 and on) come "
        "from, for they can spell text that only the model reads",
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
        says="characters that only look different cost",
        cause="ligatures of typeset PDFs, no-break spaces of web pages, letters of full width or "
        "of mathematical alphabets; a vocabulary has few tokens with them",
        do="replace these characters by their plain forms before encoding; what is lost is their "
        "look",
    )


def mojibake(evidence: Evidence) -> Iterator[Finding]:
    """UTF-8 that was read as another code page."""
    yield from rewrite_finding(
        evidence,
        without_mojibake,
        id="mojibake",
        min_share=MOJIBAKE_MIN_SHARE,
        what="runs that are valid UTF-8 when written as Windows-1252, Latin-1, Windows-1251 or Mac "
        "Roman, read as UTF-8; other code pages are not looked at",
        says="text that was decoded with the wrong encoding costs",
        cause="UTF-8 was read as another code page somewhere before: 'é' became 'Ã©'",
        do="find the reader with the wrong encoding and mend it; the text is wrong for the model "
        "as well",
    )
