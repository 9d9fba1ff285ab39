"""Rewrites that make the same text cheaper: one table of what each does and says.

A rewrite is a check (does it save enough tokens to be told?) and a remedy: what one remedy leaves
of a text is what the next one meets, so remedies are measured one after another, and no token is
saved twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from jeton.auditing.analyses.cut_text import without_letter_spacing, without_punctuation_spacing
from jeton.auditing.analyses.encoded_blobs import (
    without_blobs,
    without_entities,
    without_nested_quotes,
    without_percent_escapes,
    without_unicode_escapes,
)
from jeton.auditing.analyses.layout import (
    composed,
    with_aliases,
    with_joined_lines,
    with_lower_case,
    with_narrow_indentation,
    with_plain_line_ends,
    with_rounded_numbers,
    with_short_separators,
    with_short_urls,
    with_usual_spacing,
    without_compatibility_characters,
    without_invisible_characters,
    without_mojibake,
)
from jeton.auditing.analyses.markup import without_markup, without_markup_noise
from jeton.auditing.analyses.minified_json import without_json_layout, without_repeated_keys
from jeton.auditing.analyses.repetition import without_repeated_passages
from jeton.auditing.analyses.rewriting import Rewrite, chain
from jeton.auditing.checks.sampled import measure, saved
from jeton.auditing.evidence import Evidence, percent
from jeton.auditing.registry import (
    ANSWERS,
    LINES,
    LOSES,
    LOW,
    NONE,
    PROMPT,
    SOURCE,
    analysis,
    finding_of,
)
from jeton.auditing.replaying.remedies import Rewritten
from jeton.findings import Finding, Severity

MIN_SHARE = 0.01
"""Share of tokens from which most rewrites are told. Our choice, as for white space: the rewrite is
cheap, but below 1% it is not worth touching text."""

MIN_INDENTATION_SHARE = 0.05
"""Share of tokens from which indentation is told. Our choice: to change it is a change of the
text's look, which 1% would not justify."""

MIN_MOJIBAKE_SHARE = 0.001
"""Share of tokens from which garbled text is told. Our choice: lower than for other forms, because
garbled words are wrong as well as dear."""

MIN_PASSAGES_SHARE = 0.01
"""Share of tokens that repeat within their document. Our choice: dropping them is safe and cheap,
as for white space."""


@dataclass(frozen=True, slots=True)
class RewriteCheck:
    """A rewrite, and the words of its finding.

    Attributes:
        rewrite: From a text to the cheaper text.
        what: The counted tokens, for the formula ("tokens of ... that go when ...").
        says: The title up to its number ("base64 and other data costs").
        cause: Why the text is so; ``{tokenizer}`` stands for the tokenizer in use.
        do: The advice.
        remedy: Name, effort and risk of the remedy in charts and tables.
        min_share: Share of the tokens from which it is worth telling.
        severity: How it wants to be read.
    """

    rewrite: Rewrite
    what: str
    says: str
    cause: str
    do: str
    remedy: tuple[str, str, str]
    min_share: float = MIN_SHARE
    severity: Severity = Severity.WARNING


REWRITES: Mapping[str, RewriteCheck] = MappingProxyType(
    {
        "repeated-passages": RewriteCheck(
            without_repeated_passages,
            min_share=MIN_PASSAGES_SHARE,
            what="repeated passages of 120 and more characters (in a short document: almost half "
            "of it), over line ends too, taken out. White space and quotation marks of mail are "
            "ignored, and so are shorter repeats",
            says="Passages repeated within one request use",
            cause="The prompt has the same part twice, mails quote each other, retrieval returns "
            "the same piece twice, or a conversation carries a document through several turns.",
            do="Send each passage once: check how the prompt is built, drop repeated retrieval "
            "results, cut quoted mail.",
            remedy=("Send each passage once", LINES, NONE),
        ),
        "separator-runs": RewriteCheck(
            with_short_separators,
            what="runs of eight and more equal signs as three",
            says="Decorative lines (-----, . . . . .) use",
            cause="Separators, boxes, dotted lines of tables of contents, blank lines of forms.",
            do="Shorten each to three characters before encoding.",
            remedy=("Shorten decorative lines", LINES, LOW),
        ),
        "line-ends": RewriteCheck(
            with_plain_line_ends,
            what="line ends of Windows (two characters) as one character",
            says="Windows line ends (two characters) use",
            cause="The text has line ends of two characters (CR LF).",
            do="Write line ends as LF before encoding.",
            remedy=("Write line ends as one character", LINES, NONE),
        ),
        "indentation": RewriteCheck(
            with_narrow_indentation,
            min_share=MIN_INDENTATION_SHARE,
            what="one space for each level of indentation where all lines keep to one width",
            says="Wide indentation uses",
            cause="{tokenizer} has few tokens for several spaces, so a level of four "
            "spaces costs up to four tokens.",
            do="Indent by one space in prompts (Python and YAML accept it), or use a model whose "
            "tokenizer has tokens for several spaces.",
            remedy=("Use narrower indentation", LINES, LOW),
        ),
        "json-layout": RewriteCheck(
            without_json_layout,
            what="JSON without the white space outside of its strings",
            says="Line breaks and spaces in JSON use",
            cause="JSON is indented for people to read.",
            do="Write compact JSON: json.dumps(value, separators=(',', ':')). Models read it just "
            "as well.",
            remedy=("Write compact JSON", LINES, NONE),
        ),
        "markup": RewriteCheck(
            without_markup_noise,
            what="HTML without comments, scripts, styles and presentational attributes (elements, "
            "links and texts stay)",
            says="HTML comments, scripts, styles and attributes use",
            cause="Web pages go into the prompt as a browser gets them.",
            do="Remove what only says how a page looks, or convert it to Markdown or plain text. "
            "Keep pages whose source code is the subject.",
            remedy=("Remove HTML that only shapes the page", LINES, LOSES),
        ),
        "encoded-data": RewriteCheck(
            without_blobs,
            what="data URIs, base64 from 64 characters and hexadecimal from 80 digits, each "
            "replaced by [data]",
            says="Data written as base64 or hexadecimal uses",
            cause="Pictures, keys, certificates or attachments are inside the text. They need many "
            "tokens, and a model can hardly read them.",
            do="Take attachments out before you build the prompt and keep their names, or send "
            "them as files if the model accepts files.",
            remedy=("Remove base64 and other encoded data", SOURCE, LOSES),
        ),
        "escaped-characters": RewriteCheck(
            chain(
                without_nested_quotes,
                without_unicode_escapes,
                without_entities,
                without_percent_escapes,
            ),
            what="escapes written as the characters that they stand for",
            says="Escaped characters (such as \\u00e9 or &amp;) use",
            cause=r"A step writes JSON with escapes for all non-English letters (\u00e9), puts "
            r"JSON inside a JSON string (\"), or leaves HTML codes (&nbsp;) or percent codes in "
            "the text.",
            do="Decode the text before you build the prompt: json.dumps(value, "
            "ensure_ascii=False), html.unescape or urllib.parse.unquote.",
            remedy=("Write characters instead of escapes", LINES, NONE),
        ),
        "unicode-form": RewriteCheck(
            composed,
            what="text in Unicode form NFC",
            says="Split accents (Unicode form NFD) use",
            cause="Letters and their accents are separate characters, as some PDF extractors and "
            "macOS file names write them. Vocabularies were made from text with combined letters.",
            do="Normalize to NFC before encoding: unicodedata.normalize('NFC', text). It is the "
            "same text.",
            remedy=("Combine accents (NFC)", LINES, NONE),
        ),
        "invisible-characters": RewriteCheck(
            without_invisible_characters,
            what="soft hyphens, zero-width spaces, word joiners, byte-order marks and tag "
            "characters taken out (joiners of scripts and emoji stay)",
            says="Invisible characters use",
            cause="Web pages and word processors leave invisible marks in copied text. Some people "
            "add them to hide instructions or to pass filters.",
            do="Remove them before encoding. Find out where tag characters (U+E0000 and above) "
            "come from: they can spell text that only the model reads.",
            remedy=("Remove invisible characters", LINES, LOW),
        ),
        "compatibility-characters": RewriteCheck(
            without_compatibility_characters,
            what="letters and digits of full width and of mathematical alphabets, ligatures and "
            "special spaces as ordinary ones (NFKC of these characters alone)",
            says="Unusual forms of ordinary characters use",
            cause="Joined letters from PDFs, no-break spaces from web pages, full-width letters. "
            "A vocabulary has few tokens for them.",
            do="Replace these characters with their plain forms before encoding. Only the look is "
            "lost.",
            remedy=("Replace unusual forms of characters", LINES, LOW),
        ),
        "mojibake": RewriteCheck(
            without_mojibake,
            min_share=MIN_MOJIBAKE_SHARE,
            what="runs that are valid UTF-8 when written as Windows-1252, Latin-1, Windows-1251, "
            "Mac Roman or DOS, read as UTF-8; other code pages are not looked at",
            says="Text decoded with the wrong encoding uses",
            cause="An earlier step read UTF-8 as another encoding: 'é' became 'Ã©'.",
            do="Find the step with the wrong encoding and correct it. The model reads the wrong "
            "text too.",
            remedy=("Correct wrongly decoded text", SOURCE, "none: the text becomes right"),
        ),
        "extraction-leftovers": RewriteCheck(
            chain(
                without_letter_spacing,
                without_punctuation_spacing,
                with_usual_spacing,
                with_joined_lines,
            ),
            what="spaces that a program put beside punctuation taken out (' ,' and \"do n't\"). "
            "Words joined that a hyphen at a line end or a sign between all letters tore apart",
            says="Text that an earlier step cut into pieces uses",
            cause="An older tokenizer, OCR or a PDF extractor separated letters, words or "
            "punctuation. The pieces cost more than the words.",
            do="Use the text from before that step, or join it again before encoding.",
            remedy=("Join text that was cut into pieces", SOURCE, LOW),
        ),
        "upper-case": RewriteCheck(
            with_lower_case,
            what="six and more words of capitals in a row as an ordinary sentence",
            says="Passages in capital letters use",
            cause="Vocabularies have far fewer words in capitals than in small letters.",
            do="Write such passages in small letters where capitals mean nothing. Names and "
            "acronyms lose their capitals.",
            severity=Severity.INFO,
            remedy=("Write running text in lower case", LINES, LOSES),
        ),
        "number-precision": RewriteCheck(
            with_rounded_numbers,
            what="numbers with eight or more decimals cut to six",
            says="Digits after the sixth decimal use",
            cause="Numbers are printed with all their digits (15 to 17).",
            do="Round numbers to the digits that the question needs, before you build the prompt.",
            remedy=("Round numbers", LINES, LOSES),
        ),
        "opaque-identifiers": RewriteCheck(
            with_aliases,
            what="UUIDs and digests of 24, 32, 40 and 64 digits as id1, id2 ... within a document",
            says="Long identifiers (UUIDs, hashes) use",
            cause="An identifier of 36 characters costs 15 to 25 tokens each time.",
            do="Replace identifiers with short names (id1, id2) in the request, and put them back "
            "in the answer. A model also copies short names more reliably.",
            remedy=("Shorten identifiers", LINES, LOW),
        ),
        "long-urls": RewriteCheck(
            with_short_urls,
            what="addresses of 80 and more characters without query and fragment",
            says="Long web addresses use",
            cause="Links contain tracking parameters and session keys.",
            do="Remove them, or number the links and keep the list outside of the prompt.",
            remedy=("Shorten web addresses", LINES, LOSES),
        ),
    }
)
"""By the id of the finding."""


def rewrite_finding(id: str, evidence: Evidence) -> Iterator[Finding]:  # noqa: A002
    """Yield the finding of a rewrite, by its id: measured tokens, money, examples."""
    check = REWRITES[id]
    if not evidence.sample.n_tokens:
        return
    measured = measure(evidence, check.rewrite, min_share=check.min_share)
    if not measured.n_documents:
        return
    result = saved(evidence, measured.saved_tokens, check.what)
    if result.share < check.min_share or not result.n_tokens:
        return
    about = "" if evidence.sample.is_whole else "about "
    yield finding_of(
        severity=check.severity,
        title=f"{check.says} {about}{result.n_tokens:,} tokens, {percent(result.share)} of all",
        value=result.n_tokens,
        basis=result.basis,
        formula=result.formula,
        cause=check.cause.replace("{tokenizer}", evidence.current.name),
        remedy=check.do,
        **evidence.traffic.saving(result.n_tokens),
        evidence={
            "n_sampled_documents": len(evidence.sample.documents),
            "n_documents_concerned": measured.n_documents,
            "share": result.share,
            "share_low": result.low,
            "share_high": result.high,
            "examples": list(measured.examples),
        },
    )


MIN_KEYS_SHARE = 0.05
"""Smallest share of tokens for which a change of the format is reported. Our choice: a reader
has to learn the new form, which is not worth less."""


_AS_TABLE = chain(without_json_layout, without_repeated_keys)


@analysis(
    "json-repeated-keys",
    "Send JSON records as a table",
    PROMPT,
    ANSWERS,
    replay=lambda finding, evidence: Rewritten(_AS_TABLE),
)
def json_repeated_keys(evidence: Evidence) -> Iterator[Finding]:
    """Keys that every record of a list repeats."""
    if not evidence.sample.n_tokens:
        return
    compact = (without_json_layout(document.text)[0] for document in evidence.sample.documents)
    if not any(without_repeated_keys(text)[1] for text in compact):
        return
    layout = measure(evidence, without_json_layout, min_share=0.0)
    both = measure(evidence, _AS_TABLE, min_share=MIN_KEYS_SHARE)
    saved_tokens = both.saved_tokens - layout.saved_tokens
    result = saved(
        evidence,
        saved_tokens,
        "lists of records of the same keys (and such lines) written as one list of keys and rows "
        "of values, against compact JSON",
    )
    if result.share < MIN_KEYS_SHARE:
        return
    yield finding_of(
        title=f"Field names repeated in every JSON record use {result.n_tokens:,} tokens, "
        f"{percent(result.share)} of all",
        value=result.n_tokens,
        basis=result.basis,
        formula=result.formula,
        cause="A list of records names its fields in every record.",
        remedy="Send tables as one header and rows (CSV, or JSON with a list of names and rows). "
        "Test the answers: some models read records better.",
        **evidence.traffic.saving(result.n_tokens),
        evidence={
            "share": result.share,
            "share_low": result.low,
            "share_high": result.high,
            "examples": list(both.examples),
        },
    )


def markup(evidence: Evidence) -> Iterator[Finding]:
    """Comments, scripts, styles and attributes of HTML; and all of its tags."""
    for finding in rewrite_finding("markup", evidence):
        plain = measure(evidence, without_markup, min_share=0.0)
        finding.evidence["share_as_plain_text"] = saved(
            evidence, plain.saved_tokens, "the text that a reader of the page sees"
        ).share
        yield finding


def _register(id: str, entry: RewriteCheck) -> None:  # noqa: A002
    check = markup if id == "markup" else partial(rewrite_finding, id)
    analysis(id, *entry.remedy, replay=lambda finding, evidence: Rewritten(entry.rewrite))(check)


for _id, _entry in REWRITES.items():
    _register(_id, _entry)
