"""The audit as Markdown: for a pull request, a wiki page, or a file beside the numbers.

The decisive parts stand open: the sum, five findings, the waterfall, the tokenizers; the rest is
folded. The whole stays below what GitHub takes as one comment.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from jeton.report import markdown_parts as parts_of
from jeton.report.markdown_text import details, escaped, rows, signed, text, written
from jeton.report.numbers import Numbers
from jeton.report.simulation_text import simulation_blocks
from jeton.report.summary import (
    FindingView,
    current_tokenizer,
    findings,
    headline,
    n_open_findings,
    worst_terms,
)
from jeton.report.tables import (
    EconomicsPart,
    Table,
    economics_table,
    fidelity_table,
    quality_table,
    tokens_table,
)
from jeton.report.training_text import training_blocks
from jeton.report.workload import title_of, workload_line

if TYPE_CHECKING:
    from jeton.auditing.result import AuditReport

_N_TERMS = 20
_MAX_CHARS = 65_536
"""The longest comment that GitHub takes, characters (its REST API refuses longer ones with "Body is
too long (maximum is 65536 characters)")."""


def to_markdown(report: AuditReport, *, max_chars: int = _MAX_CHARS) -> str:
    """Return the audit as GitHub-flavoured Markdown; the same report gives the same text.

    Args:
        report: The audit.
        max_chars: Parts that would make the text longer than this are left out, the last first, and
            the text says so; by default what GitHub takes as a comment.
    """
    data = report.to_dict()
    numbers = Numbers(data)
    current = current_tokenizer(data)
    blocks = [
        f"# {text(title_of(data))}",
        _first_sentences(numbers),
        *(text(notice) for notice in data["notices"]),
        "## Findings",
        *_findings(numbers),
        *parts_of.provider(numbers),
        *parts_of.waterfall(numbers),
        *parts_of.models(numbers),
        *parts_of.spending(numbers),
        *parts_of.billed(numbers),
        *(
            ("## Tokenizers side by side", _table(numbers, tokens_table(numbers, current=current)))
            if data["tokenizers"]
            else ()
        ),
        *_folded(numbers, current),
    ]
    last = (
        "**Bold** marks the best value of a column; \\~ marks an estimated figure, \u2248 a "
        f"calibrated one; all others are exact. Made by Jeton {text(data['jeton_version'])}."
    )
    return _within([block for block in blocks if block], last, max_chars)


def _within(blocks: list[str], last: str, max_chars: int) -> str:
    """Join blocks; from the end on, leave out what does not fit."""
    whole = "\n\n".join([*blocks, last]) + "\n"
    n_left_out = 0
    while len(whole) > max_chars and len(blocks) > 1:
        blocks = blocks[:-1]
        n_left_out += 1
        note = f"Left out for length: {n_left_out} more parts; the JSON and HTML reports have all."
        whole = "\n\n".join([*blocks, note, last]) + "\n"
    return whole


def _folded(numbers: Numbers, current: int) -> Iterable[str]:
    """The parts that one unfolds."""
    data = numbers.data
    parts: tuple[tuple[str, EconomicsPart], ...] = (
        ("Cost with each tokenizer", "money"),
        ("Memory", "memory"),
        ("On your own GPUs", "own"),
        ("Reading the prompt", "compute"),
    )
    for title, part in parts:
        table = economics_table(numbers, part=part)
        if table is not None:
            yield details(title, _table(numbers, table), _basis_of(data)[part])
    quality = quality_table(numbers)
    for title, blocks in (
        ("Today and after all changes", parts_of.comparison(numbers)),
        ("Which tokenizer to choose", parts_of.tradeoff(numbers)),
        ("Your traffic replayed on the GPU", simulation_blocks(numbers)),
        ("Training with each tokenizer", training_blocks(numbers)),
        ("Your bill against your log", parts_of.bill(numbers)),
        ("Limits of the API", parts_of.quota(numbers)),
        ("Domains", parts_of.domains(numbers, current=current)),
        ("Cost of each domain", parts_of.domain_bills(numbers)),
        ("Tokens of the whole workload", parts_of.sampled(numbers)),
        ("The pipeline", parts_of.maturity(numbers)),
        ("Contents of the log", parts_of.requests(numbers)),
        (
            "Other quality measures",
            [_table(numbers, quality), *parts_of.stability(numbers)] if quality else [],
        ),
        (
            "Vocabulary, and whether the text survives",
            [_table(numbers, fidelity_table(numbers))] if data["tokenizers"] else [],
        ),
        ("How your terms are split", _terms(numbers)),
    ):
        if blocks:
            yield details(title, *blocks)


def _first_sentences(numbers: Numbers) -> str:
    data, first = numbers.data, headline(numbers)
    documents = numbers.show("corpus.n_documents", "count")
    size = numbers.show("corpus.n_bytes", "bytes")
    names = [tokenizer["name"] for tokenizer in data["tokenizers"]]
    what = f" with {text(names[first.tokenizer])}" if names and not first.is_money else ""
    measured = f", measured on {written(documents)} documents ({written(size)})" if names else ""
    lines = [
        escaped(workload_line(numbers)) + ".",
        f"**{escaped(signed(first.total))} {first.period}**{what}{measured}.",
    ]
    if first.n_remedies and first.saving is not None:
        share = f" ({signed(first.saving_share)})" if first.saving_share else ""
        lines.append(
            f"**{escaped(signed(first.saving))} a year**{escaped(share)} can be saved with "
            f"{first.n_remedies} {'change' if first.n_remedies == 1 else 'changes'}."
        )
    elif first.finding is not None and first.saving is not None:
        share = f" ({first.saving_share.text})" if first.saving_share else ""
        lines.append(
            f"The largest single saving is **{escaped(signed(first.saving))} a year**{share}: "
            f"finding {first.finding + 1}."
        )
    elif first.candidate is not None and first.saving is not None:
        candidate = text(data["tokenizers"][first.candidate]["name"])
        lines.append(f"{candidate} changes the number of tokens by **{first.saving.text}**.")
    return " ".join(lines)


def _findings(numbers: Numbers) -> Iterable[str]:
    views = findings(numbers)
    if not views:
        return ["None: no check found anything worth changing."]
    n_open = n_open_findings(numbers.data)
    blocks = [_finding(view) for view in views[:n_open]]
    more = views[n_open:]
    if more:
        table = rows(
            ["No.", "Finding", "Remedy", "Saves a year"],
            [
                [
                    str(view.index + 1),
                    text(view.data["title"]),
                    text(view.data["remedy"]),
                    escaped(signed(view.saving)),
                ]
                for view in more
            ],
            n_text=3,
        )
        blocks.append(details(f"{len(more)} more finding{'s' * (len(more) > 1)}", table))
    return blocks


def _finding(view: FindingView) -> str:
    lines = [
        f"{view.index + 1}. **{text(view.data['title'])}**"
        + (f" (saves {escaped(signed(view.saving))} a year)" if view.saving else ""),
        f"   - {view.data['severity']}, in {text(view.data['where'])}: "
        f"{escaped(signed(view.figure))} {text(view.unit)}",
        f"   - Cause: {text(view.data['cause'])}",
        f"   - Remedy: {text(view.data['remedy'])}",
    ]
    if view.data["saving_formula"]:
        lines.append(f"   - Saving: {text(view.data['saving_formula'])}")
    return "\n".join(lines)


def _table(numbers: Numbers, table: Table) -> str:
    names = [
        text(t["name"]) + (" (in use)" if t["is_current"] else "")
        for t in numbers.data["tokenizers"]
    ]
    body = [
        [
            name,
            *(
                f"**{escaped(signed(cell.shown))}**"
                if cell.is_best
                else escaped(signed(cell.shown))
                for cell in row
            ),
        ]
        for name, row in zip(names, table.rows, strict=True)
    ]
    return rows(["Tokenizer", *(column.label for column in table.columns)], body)


def _terms(numbers: Numbers) -> list[str]:
    terms = worst_terms(numbers, limit=_N_TERMS)
    if not terms:
        return []
    names = [tokenizer["name"] for tokenizer in numbers.data["tokenizers"]]
    body = []
    for term in terms:
        cuts = {cut["tokenizer"]: cut for cut in term.data["cuts"]}
        pieces = [
            "\u00b7".join(text(piece.strip(" ")) for piece in cuts[name]["pieces"])
            + f" ({cuts[name]['n_tokens']})"
            if name in cuts
            else ""
            for name in names
        ]
        cost = escaped(signed(term.cost))
        body.append([text(term.data["term"]), term.occurrences.text, *pieces, cost])
    header = [
        "Term",
        "Occurs",
        *(text(name) for name in names),
        "Cost a year of the tokens beyond the first",
    ]
    return [rows(header, body)]


def _basis_of(data: dict[str, Any]) -> dict[str, str]:
    workload = data["workload"]
    price = [text(part) for part in (workload["price_model"], workload["price_provider"]) if part]
    facts = [
        f"{text(name)} ({text(source)})" if source else text(name)
        for name, source in (
            (workload["model"], workload["model_source"]),
            (workload["gpu"], workload["gpu_source"]),
        )
        if name
    ]
    date = f", prices of {text(workload['price_date'])}" if workload["price_date"] else ""
    return {
        "money": f"Price list: {', '.join(price)}{date}." if price else "",
        "memory": f"Facts: {'; '.join(facts)}." if facts else "",
        "compute": "",
        "own": "",
    }
