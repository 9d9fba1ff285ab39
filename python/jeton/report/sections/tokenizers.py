"""Tokenizers side by side: tokens, lengths, quality, vocabulary."""

from __future__ import annotations

from typing import Any

from jeton.report.charts import bar_chart, length_charts
from jeton.report.numbers import Numbers, below
from jeton.report.summary import current_tokenizer, headline
from jeton.report.tables import fidelity_table, quality_table, tokens_table
from jeton.report.tree import (
    MARKDOWN,
    PAGE,
    PAPER,
    Block,
    Charts,
    Column,
    Fold,
    Group,
    Heading,
    Paragraph,
    Plot,
    Section,
    Table,
    TableRow,
    Words,
    quoted,
    tokenizer_name,
    words_column,
)

_STABILITY_WORDS = {
    "nfc": "Unicode form NFC",
    "nfd": "Unicode form NFD",
    "nfkc": "Unicode form NFKC",
    "nfkd": "Unicode form NFKD",
    "lower": "all lower case",
    "lower_case": "all lower case",
    "upper": "all upper case",
    "upper_case": "all upper case",
    "case": "another case",
    "leading_space": "a space before",
    "double_space": "doubled spaces",
    "double_spaces": "doubled spaces",
    "doubled_spaces": "doubled spaces",
    "tabs": "tabs for spaces",
}
_STAYS = "Tokens that stay the same when the text is changed"


def tokenizers(numbers: Numbers) -> Section | None:
    """All tokenizers; folded where there is one and money to speak of."""
    data = numbers.data
    if not data["tokenizers"]:
        return None
    current, is_choice = current_tokenizer(data), len(data["tokenizers"]) > 1
    tokens = tokens_table(numbers, current=current)
    return Section(
        "tokenizers",
        "Tokenizers side by side" if is_choice else "The tokenizer",
        "Tokenizers" if is_choice else "Tokenizer",
        (Heading("Tokenizers side by side", MARKDOWN), tokens, *side_by_side(numbers, current)),
        is_open=is_choice or not headline(numbers).is_money,
        hint="tokens per document, vocabulary, other quality measures",
    )


def side_by_side(numbers: Numbers, current: int) -> tuple[Block | None, ...]:
    """Charts of lengths and of compression, and the folded tables."""
    several = ", in the same steps in all charts" if len(numbers.data["tokenizers"]) > 1 else ""
    lengths = (
        f"Share of the documents by length{several}. Half of the documents are left of the solid "
        "line (p50), 95% are left of the dashed one (p95)."
    )
    has_lengths = any(
        t["tokens_per_document"]["histogram"]["counts"] for t in numbers.data["tokenizers"]
    )
    quality = quality_table(numbers)
    return (
        Charts(lambda: compression(numbers), "narrow"),
        Heading("Tokens per document", PAGE if has_lengths else ""),
        Paragraph(lengths, forms=PAGE if has_lengths else ""),
        Charts(lambda: length_charts(numbers)),
        Fold(
            "Other quality measures, vocabulary, fingerprints",
            (
                Fold(
                    "Other quality measures",
                    (quality, _splitter(numbers, current), *stability(numbers)),
                    MARKDOWN,
                )
                if quality
                else Group("", stability(numbers)),
                Fold("Vocabulary, and whether the text survives", (fidelity_table(numbers),),
                     MARKDOWN),
                _fingerprints(numbers, current),
            ),
        ),
    )  # fmt: skip


def compression(numbers: Numbers) -> tuple[Plot, ...]:
    """Bytes per token as bars."""
    plot = bar_chart(
        numbers, name="compression", key="bytes_per_token", title="Bytes per token", kind="ratio",
        hint="more is better",
    )  # fmt: skip
    return (plot,) if plot else ()


def _splitter(numbers: Numbers, current: int) -> Block | None:
    quality: dict[str, Any] = numbers.data["tokenizers"][current].get("quality") or {}
    if not quality.get("word_splitter"):
        return None
    at = f"tokenizers[{current}].quality"
    ranges: Words = ""
    if quality.get("bits_per_byte_interval"):
        confidence = numbers.show(f"{at}.bits_per_byte_interval.confidence", "share")
        ranges = ("; ranges are ", confidence, " bootstrap intervals by document")
    said = ("Words are split at ", quoted(numbers, f"{at}.word_splitter"), ranges, ".")
    return Paragraph(said, "where", PAGE)


def stability(numbers: Numbers) -> tuple[Block, ...]:
    """Share of ids that stay when the text changes; nothing where it was not measured."""
    found = [(t.get("quality") or {}).get("stability") or {} for t in numbers.data["tokenizers"]]
    keys = list(dict.fromkeys(key for one in found for key in one))
    if not keys:
        return ()
    rows = []
    for key in keys:
        cells = (
            numbers.show(below(f"tokenizers[{index}].quality.stability", key), "share")
            if key in one
            else None
            for index, one in enumerate(found)
        )
        rows.append(TableRow(_STABILITY_WORDS.get(key, key.replace("_", " ")), tuple(cells)))
    columns = tuple(Column("", tokenizer_name(numbers, i)) for i in range(len(found)))
    table = Table(_STAYS, "Change", columns, tuple(rows), forms=PAPER, label="Stability")
    return (Paragraph(f"{_STAYS}:", forms=MARKDOWN), table)


def _fingerprints(numbers: Numbers, current: int) -> Table:
    rows = []
    for index in range(len(numbers.data["tokenizers"])):
        path = f"tokenizers[{index}]"
        cells = (quoted(numbers, f"{path}.algorithm"), quoted(numbers, f"{path}.fingerprint"))
        rows.append(TableRow(tokenizer_name(numbers, index, current), cells))
    columns = (words_column("Algorithm"), words_column("Fingerprint", look="text code"))
    return Table(
        "Fingerprints",
        "Tokenizer",
        columns,
        tuple(rows),
        forms=PAGE,
        label="Identity of the tokenizers",
        style="",
    )
