"""Method of the figures: bases, sampling, corpus, workload, sources, formulas."""

from __future__ import annotations

from typing import Any

from jeton.report.numbers import Numbers
from jeton.report.tables import PARTS, columns_of
from jeton.report.tree import (
    MARKDOWN,
    PAGE,
    PAPER,
    Block,
    Column,
    FactList,
    Fold,
    Group,
    Heading,
    Line,
    Only,
    Paragraph,
    Section,
    Styled,
    Table,
    TableRow,
    Words,
    figure_table,
    measured,
    quoted,
    tokenizer_name,
)

BASIS_WORDS = {
    "exact": "counted, or computed from counts and published numbers",
    "calibrated": "computed with a factor that was measured on this or a similar workload",
    "estimated": "computed with an assumption; the formula says which",
}
_SIGNS = {"exact": "no sign", "calibrated": "\u2248", "estimated": "~"}
_N_SOURCES = 50
_CORPUS = (
    ("n_documents", "Documents"),
    ("n_bytes", "Bytes"),
    ("n_chars", "Code points"),
    ("n_words", ""),
    ("n_repeated_whitespace_bytes", "Repeated white space, bytes"),
    ("n_replaced_documents", "Documents with broken UTF-8"),
    ("n_replacements", "Bytes replaced in them"),
    ("n_null_documents", "Rows without text, skipped"),
    ("n_skipped_files", "Files skipped, not text"),
    ("n_cut_documents", "Documents cut at the size limit"),
)
_WORKLOAD = (
    ("model", "Model"),
    ("model_source", "Facts of the model"),
    ("gpu", "GPU"),
    ("gpu_source", "Facts of the GPU"),
    ("price_model", "Price of"),
    ("price_provider", "Provider"),
    ("price_date", "Date of the price"),
)
_SAMPLED_COLUMNS = (
    Column("n_tokens", ("Tokens", Only(MARKDOWN, " of all"))),
    Column("low", "From"),
    Column("high", "To"),
    Column("confidence", "Confidence", kind="share"),
)


def basis(numbers: Numbers) -> Section:
    """The method, folded; with the tokens of the whole where a part was counted."""
    bases = ((word, Styled(sign, "tag")) for word, sign in _SIGNS.items())
    facts = tuple((name, BASIS_WORDS[str(name[0])]) for name in bases)
    sampled = _sampled(numbers)
    return Section(
        "basis",
        "How these figures were made",
        "Method",
        (
            *_lines(numbers, sampled),
            FactList(facts, "plain bases"),
            _sampling(numbers),
            Fold("Tokens of the whole workload", (sampled,), MARKDOWN) if sampled.rows else None,
            Group(
                "columns",
                (
                    Group("", (Heading("Corpus"), FactList(_corpus(numbers)))),
                    Group("", (Heading("Workload"), FactList(_workload(numbers)))),
                ),
            ),
            Fold("Sources", (_sources(numbers),)),
            *_formulas(numbers),
        ),
        is_open=False,
        hint="inputs, prices, formulas, and how exact each figure is",
    )


def _sampled(numbers: Numbers) -> Table:
    """Tokens of the whole workload; no rows where all of it was counted."""
    sampling = numbers.data.get("sampling") or {}
    rows = []
    for index, entry in enumerate(sampling.get("tokens_of_all") or ()):
        path = f"sampling.tokens_of_all[{index}]"
        *counts, _ = measured(numbers, path, _SAMPLED_COLUMNS, basis=entry["n_tokens"]["basis"])
        confidence = numbers.show(f"{path}.confidence", "share")
        rows.append(TableRow(quoted(numbers, f"{path}.tokenizer"), (*counts, confidence)))
    return Table(
        "Tokens of the whole workload, estimated from the counted part",
        "Tokenizer",
        _SAMPLED_COLUMNS,
        tuple(rows),
        forms=PAPER,
        label="Tokens of the whole workload",
        style="",
    )


def _lines(numbers: Numbers, sampled: Table) -> list[Block]:
    lines: list[Block] = []
    for row in sampled.rows:
        tokens, low, high, _ = row.cells
        lines.append(Line("Whole", (tokens, " tokens with ", row.head, ", ", low, " to ", high)))
    return lines


def _sampling(numbers: Numbers) -> Block | None:
    data = numbers.data.get("sampling")
    if not data or (data["is_whole"] and data["deep_is_whole"]):
        return None

    def n(key: str) -> Words:
        return numbers.show(f"sampling.{key}", "bytes" if "bytes" in key else "count")

    said: list[Words] = ["Every document was counted."]
    if not data["is_whole"]:
        said = [
            n("n_documents_counted"), " of about ", n("n_documents_of_all"),
            " documents were counted (", n("n_bytes_counted"), " of ", n("n_bytes_of_all"),
            "); the figures stand for all of them.",
        ]  # fmt: skip
    if not data["deep_is_whole"]:
        said += [
            " Shared openings, quality and similar figures were measured on ",
            n("deep_n_documents"), " documents (", n("deep_n_tokens"),
            " tokens), drawn evenly; they are estimated.",
        ]  # fmt: skip
    return Paragraph(tuple(said), forms=PAGE)


def _corpus(numbers: Numbers) -> tuple[tuple[Words, ...], ...]:
    words = ("Words, split at ", quoted(numbers, "corpus.word_splitter"))
    return tuple((label or words, numbers.show(f"corpus.{key}", "count")) for key, label in _CORPUS)


def _workload(numbers: Numbers) -> tuple[tuple[Words, ...], ...]:
    w: dict[str, Any] = numbers.data["workload"]
    found: list[tuple[Words, ...]] = [
        (label, numbers.show(f"workload.{key}", "count"))
        for key, label in (
            ("requests_per_day", "Requests a day"),
            ("output_tokens_per_request", "Output tokens a request"),
        )
    ]
    found += [(label, quoted(numbers, f"workload.{k}")) for k, label in _WORKLOAD if w[k]]
    found += [
        (f"Price of a million {key} tokens", numbers.show(f"workload.usd_per_mtok_{key}", "usd"))
        for key in ("input", "output")
        if w[f"usd_per_mtok_{key}"] is not None
    ]
    return tuple(found)


def _sources(numbers: Numbers) -> Table:
    sources = numbers.data["corpus"]["sources"]
    columns = (Column("n_documents", "Documents"), Column("n_bytes", "Bytes"))
    rows = []
    for index in range(min(_N_SOURCES, len(sources))):
        path = f"corpus.sources[{index}]"
        rows.append(TableRow(quoted(numbers, f"{path}.path"), measured(numbers, path, columns)))
    return Table(
        "Texts that were read",
        "Source",
        columns,
        tuple(rows),
        forms=PAGE,
        label="Sources",
        n_all=len(sources),
        style="sortable",
    )


def _formulas(numbers: Numbers) -> list[Block]:
    """The formulas of money and memory with each tokenizer."""
    folds: list[Block] = []
    for index, tokenizer in enumerate(numbers.data["tokenizers"]):
        path = f"tokenizers[{index}].economics"
        named: list[tuple[Words, str]] = [
            (column.meaning, f"{path}.{column.key}")
            for part in PARTS
            for column in columns_of("economics")
            if column.key.startswith(PARTS[part][1])
            and tokenizer["economics"][column.key] is not None
        ]
        if named:
            table = figure_table(numbers, f"Formulas with tokenizer {index + 1}", named)
            folds.append(Fold(("Formulas with ", tokenizer_name(numbers, index)), (table,)))
    return folds
