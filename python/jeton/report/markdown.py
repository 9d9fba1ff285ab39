"""The audit as Markdown: for a pull request, a wiki page, or a file beside the numbers.

The decisive parts stand open: the sum, five findings, the waterfall, the tokenizers; the rest is
folded. The whole stays below what GitHub takes as one comment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from jeton.report.markdown_text import details, escaped, rows, signed, text
from jeton.report.numbers import Numbers, Shown
from jeton.report.sections import sections_of
from jeton.report.summary import FindingView, headline
from jeton.report.tree import (
    MARKDOWN,
    Block,
    Findings,
    Fold,
    Gauge,
    Heading,
    Items,
    Marked,
    Named,
    Paragraph,
    Quoted,
    Styled,
    Table,
    Words,
    blocks_of,
    leaves,
)
from jeton.report.workload import title_of, workload_line

if TYPE_CHECKING:
    from jeton.auditing.result import AuditReport

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
    open_, folded = list[str](), list[str]()
    for section in sections_of(numbers):
        if section.id == "gate":  # it has Markdown of its own
            continue
        blocks = list(blocks_of(section.blocks, MARKDOWN))
        if section.is_headed and blocks:
            open_.append(f"## {text(section.title)}")
        for block in blocks:
            (folded if isinstance(block, Fold) else open_).extend(block_markdown(block))
    last = (
        "**Bold** marks the best value of a column; \\~ marks an estimated figure, \u2248 a "
        f"calibrated one; all others are exact. Made by Jeton {text(data['jeton_version'])}."
    )
    notices = (text(notice) for notice in data["notices"])
    first = [f"# {text(title_of(data))}", _first_sentences(numbers), *notices]
    return _within([block for block in (*first, *open_, *folded) if block], last, max_chars)


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


def written(words: Words) -> str:
    """Words as Markdown in which nothing of others is markup."""
    return "".join(_written(leaf) for leaf in leaves(words, MARKDOWN))


def _written(leaf: Words) -> str:
    match leaf:
        case str():
            return escaped(leaf)
        case Quoted():
            return text(leaf.text)
        case Shown():
            return escaped(signed(leaf))
        case Marked():
            number = escaped(signed(leaf.shown))
            return f"**{number}**" if leaf.is_best else number
        case Gauge():
            return escaped(signed(leaf.shown))
        case Named():
            return text(leaf.name.text) + (" (in use)" if leaf.is_current else "")
        case Styled(words, "strong" | "bold"):
            return f"**{written(words)}**"
        case Styled(words, "tag"):
            return f" ({written(words)})"
        case Styled(words, "line"):
            return f"{written(words)}  \n"
        case Styled(words):
            return written(words)
        case _:
            return ""


def block_markdown(block: Block) -> Iterable[str]:
    """The paragraphs of a block."""
    match block:
        case Paragraph(words):
            yield written(words).rstrip()
        case Heading(words):
            yield f"## {written(words)}"
        case Items(items):
            yield "\n".join(f"- {written(item)}" for item in items)
        case Table():
            yield table_markdown(block)
        case Fold(summary, blocks):
            inside = (part for one in blocks_of(blocks, MARKDOWN) for part in block_markdown(one))
            yield details(written(summary), *inside)
        case Findings(views, n_open):
            yield "## Findings"
            yield from _findings(views, n_open)


def table_markdown(table: Table) -> str:
    """A table; columns of words come first."""
    table = table.of(MARKDOWN)
    places = sorted(range(len(table.columns)), key=lambda i: not table.columns[i].is_text)
    n_text = 1 + sum(column.is_text for column in table.columns)
    header = [written(table.head), *(written(table.columns[i].label) for i in places)]
    body = [[written(row.head), *(written(row.cells[i]) for i in places)] for row in table.rows]
    return rows(header, body, n_text=n_text)


def _first_sentences(numbers: Numbers) -> str:
    data, first = numbers.data, headline(numbers)
    documents = numbers.show("corpus.n_documents", "count")
    size = numbers.show("corpus.n_bytes", "bytes")
    names = [tokenizer["name"] for tokenizer in data["tokenizers"]]
    what = f" with {text(names[first.tokenizer])}" if names and not first.is_money else ""
    measured = f", measured on {signed(documents)} documents ({signed(size)})" if names else ""
    lines = [
        escaped(workload_line(numbers)) + ".",
        f"**{escaped(signed(first.total))} {first.period}**{what}{measured}.",
    ]
    saved = escaped(signed(first.saving))
    if first.n_remedies and first.saving is not None:
        share = f" ({signed(first.saving_share)})" if first.saving_share else ""
        lines.append(
            f"**{saved} a year**{escaped(share)} can be saved with "
            f"{first.n_remedies} {'change' if first.n_remedies == 1 else 'changes'}."
        )
    elif first.finding is not None and first.saving is not None:
        share = f" ({first.saving_share.text})" if first.saving_share else ""
        lines.append(
            f"The largest single saving is **{saved} a year**{share}: finding {first.finding + 1}."
        )
    elif first.candidate is not None and first.saving is not None:
        candidate = text(data["tokenizers"][first.candidate]["name"])
        lines.append(f"{candidate} changes the number of tokens by **{first.saving.text}**.")
    return " ".join(lines)


def _findings(views: tuple[FindingView, ...], n_open: int) -> Iterator[str]:
    if not views:
        yield "None: no check found anything worth changing."
    yield from (_finding(view) for view in views[:n_open])
    if more := views[n_open:]:
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
        yield details(f"{len(more)} more finding{'s' * (len(more) > 1)}", table)


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
