"""Does the format of the text (JSON, HTML, layout, values) cost tokens that carry nothing?"""

from __future__ import annotations

from collections.abc import Iterator

from jeton.auditing.analyses.cut_text import without_letter_spacing, without_punctuation_spacing
from jeton.auditing.analyses.layout import (
    with_joined_lines,
    with_lower_case,
    with_narrow_indentation,
    with_plain_line_ends,
    with_short_separators,
    with_usual_spacing,
)
from jeton.auditing.analyses.markup import without_markup, without_markup_noise
from jeton.auditing.analyses.minified_json import without_json_layout, without_repeated_keys
from jeton.auditing.analyses.rewriting import chain
from jeton.auditing.analyses.values import with_aliases, with_rounded_numbers, with_short_urls
from jeton.auditing.checks.sampled import measure, remedy, rewrite_finding, saved
from jeton.auditing.evidence import Evidence, percent
from jeton.findings import Basis, Figure, Finding, Severity

__all__ = [
    "MIN_INDENTATION_SHARE",
    "MIN_KEYS_SHARE",
    "MIN_SHARE",
    "extraction_leftovers",
    "indentation",
    "json_layout",
    "json_repeated_keys",
    "line_ends",
    "long_urls",
    "markup",
    "number_precision",
    "opaque_identifiers",
    "separators",
    "upper_case",
]

MIN_SHARE = 0.01
"""Share of tokens from which these are told. Our choice, as for white space: the rewrite is cheap,
but below 1% it is not worth touching text."""

MIN_KEYS_SHARE = 0.05
"""Share of tokens from which a change of the format is told. Our choice: whoever reads the prompt
has to learn the new form, which is not worth less."""


MIN_INDENTATION_SHARE = 0.05
"""Share of tokens from which indentation is told. Our choice: to change it is a change of the
text's look, which 1% would not justify."""


def json_layout(evidence: Evidence) -> Iterator[Finding]:
    """White space between the parts of JSON."""
    yield from rewrite_finding(
        evidence,
        without_json_layout,
        id="json-layout",
        min_share=MIN_SHARE,
        what="JSON without the white space outside of its strings",
        says="Line breaks and spaces in JSON use",
        cause="JSON is indented for people to read.",
        do="Write compact JSON: json.dumps(value, separators=(',', ':')). Models read it just as "
        "well.",
    )


def json_repeated_keys(evidence: Evidence) -> Iterator[Finding]:
    """Keys that every record of a list repeats."""
    if not evidence.sample.n_tokens:
        return
    compact = (without_json_layout(document.text)[0] for document in evidence.sample.documents)
    if not any(without_repeated_keys(text)[1] for text in compact):
        return
    layout = measure(evidence, without_json_layout, min_share=0.0)
    both = measure(
        evidence, chain(without_json_layout, without_repeated_keys), min_share=MIN_KEYS_SHARE
    )
    saved_tokens = both.saved_tokens - layout.saved_tokens
    result = saved(
        evidence,
        saved_tokens,
        "lists of records of the same keys (and such lines) written as one list of keys and rows "
        "of values, against compact JSON",
    )
    if result.share < MIN_KEYS_SHARE:
        return
    yield Finding(
        id="json-repeated-keys",
        severity=Severity.WARNING,
        title=(
            f"Field names repeated in every JSON record use {result.n_tokens:,} tokens, "
            f"{percent(result.share)} of all"
        ),
        where="the text",
        figure=Figure(result.n_tokens, "tokens on the audited text", result.basis, result.formula),
        cause="A list of records names its fields in every record.",
        remedy=(
            "Send tables as one header and rows (CSV, or JSON with a list of names and rows). "
            "Test the answers: some models read records better."
        ),
        saving_usd_per_year=evidence.traffic.usd_per_year(result.n_tokens),
        saving_formula=evidence.traffic.formula(result.n_tokens),
        saving_basis=Basis.ESTIMATED,
        evidence={
            "share": result.share,
            "share_low": result.low,
            "share_high": result.high,
            "examples": list(both.examples),
            "remedy": remedy(result.share, effects=result.effects),
        },
    )


def markup(evidence: Evidence) -> Iterator[Finding]:
    """Comments, scripts, styles and attributes of HTML; and all of its tags."""
    for finding in rewrite_finding(
        evidence,
        without_markup_noise,
        id="markup",
        min_share=MIN_SHARE,
        what="HTML without comments, scripts, styles and presentational attributes (elements, "
        "links and texts stay)",
        says="HTML comments, scripts, styles and attributes use",
        cause="Web pages go into the prompt as a browser gets them.",
        do="Remove what only says how a page looks, or convert it to Markdown or plain text. Keep "
        "pages whose source code is the subject.",
    ):
        plain = measure(evidence, without_markup, min_share=0.0)
        finding.evidence["share_as_plain_text"] = saved(
            evidence, plain.saved_tokens, "the text that a reader of the page sees"
        ).share
        yield finding


def separators(evidence: Evidence) -> Iterator[Finding]:
    """Lines of signs that only separate."""
    yield from rewrite_finding(
        evidence,
        with_short_separators,
        id="separator-runs",
        min_share=MIN_SHARE,
        what="runs of eight and more equal signs as three",
        says="Decorative lines (-----, . . . . .) use",
        cause="Separators, boxes, dotted lines of tables of contents, blank lines of forms.",
        do="Shorten each to three characters before encoding.",
    )


def line_ends(evidence: Evidence) -> Iterator[Finding]:
    r"""``\r\n`` where ``\n`` would do."""
    yield from rewrite_finding(
        evidence,
        with_plain_line_ends,
        id="line-ends",
        min_share=MIN_SHARE,
        what="line ends of Windows (two characters) as one character",
        says="Windows line ends (two characters) use",
        cause="The text has line ends of two characters (CR LF).",
        do="Write line ends as LF before encoding.",
    )


def indentation(evidence: Evidence) -> Iterator[Finding]:
    """Indentation that the vocabulary has no long tokens for."""
    yield from rewrite_finding(
        evidence,
        with_narrow_indentation,
        id="indentation",
        min_share=MIN_INDENTATION_SHARE,
        what="one space for each level of indentation where all lines keep to one width",
        says="Wide indentation uses",
        cause=f"{evidence.current.name} has few tokens for several spaces, so a level of four "
        "spaces costs up to four tokens.",
        do="Indent by one space in prompts (Python and YAML accept it), or use a model whose "
        "tokenizer has tokens for several spaces.",
    )


def extraction_leftovers(evidence: Evidence) -> Iterator[Finding]:
    """Spaced punctuation, torn words and letter-spaced text."""
    yield from rewrite_finding(
        evidence,
        chain(
            without_letter_spacing,
            without_punctuation_spacing,
            with_usual_spacing,
            with_joined_lines,
        ),
        id="extraction-leftovers",
        min_share=MIN_SHARE,
        what="no space beside punctuation where a program put it (' ,' and \"do n't\"), words "
        "joined that a hyphen at a line end or a sign between all letters tore apart",
        says="Text that an earlier step cut into pieces uses",
        cause="An older tokenizer, OCR or a PDF extractor separated letters, words or punctuation. "
        "The pieces cost more than the words.",
        do="Use the text from before that step, or join it again before encoding.",
    )


def number_precision(evidence: Evidence) -> Iterator[Finding]:
    """Numbers with more digits than anybody reads."""
    yield from rewrite_finding(
        evidence,
        with_rounded_numbers,
        id="number-precision",
        min_share=MIN_SHARE,
        what="numbers with eight or more decimals cut to six",
        says="Digits after the sixth decimal use",
        cause="Numbers are printed with all their digits (15 to 17).",
        do="Round numbers before you build the prompt, to what the question needs.",
    )


def opaque_identifiers(evidence: Evidence) -> Iterator[Finding]:
    """UUIDs and digests."""
    yield from rewrite_finding(
        evidence,
        with_aliases,
        id="opaque-identifiers",
        min_share=MIN_SHARE,
        what="UUIDs and digests of 24, 32, 40 and 64 digits as id1, id2 ... within a document",
        says="Long identifiers (UUIDs, hashes) use",
        cause="An identifier of 36 characters costs 15 to 25 tokens each time.",
        do="Replace identifiers with short names (id1, id2) in the request, and put them back in "
        "the answer. A model also copies short names more reliably.",
    )


def long_urls(evidence: Evidence) -> Iterator[Finding]:
    """Queries of long addresses."""
    yield from rewrite_finding(
        evidence,
        with_short_urls,
        id="long-urls",
        min_share=MIN_SHARE,
        what="addresses of 80 and more characters without query and fragment",
        says="Long web addresses use",
        cause="Links contain tracking parameters and session keys.",
        do="Remove them, or number the links and keep the list outside of the prompt.",
    )


def upper_case(evidence: Evidence) -> Iterator[Finding]:
    """Passages in capitals."""
    yield from rewrite_finding(
        evidence,
        with_lower_case,
        id="upper-case",
        min_share=MIN_SHARE,
        what="six and more words of capitals in a row as an ordinary sentence",
        says="Passages in capital letters use",
        cause="Vocabularies have far fewer words in capitals than in small letters.",
        do="Write such passages in small letters where capitals mean nothing. Names and acronyms "
        "lose their capitals.",
        severity=Severity.INFO,
    )
