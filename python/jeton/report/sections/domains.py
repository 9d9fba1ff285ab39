"""Domains of a workload: their tokens, and the cost of their prompts."""

from __future__ import annotations

from typing import Any

from jeton.report.numbers import Numbers, money_kind
from jeton.report.summary import current_tokenizer
from jeton.report.tree import (
    MARKDOWN,
    PAGE,
    PAPER,
    Block,
    Column,
    Fold,
    Gauge,
    Only,
    Paragraph,
    Section,
    Table,
    TableRow,
    measured,
    quoted,
    tokenizer_name,
)

_MOST = (10, 20, 50)
_MOST_BILLS = (10, 20, 40)


def domains(numbers: Numbers) -> Section | None:
    """Domains with the tokenizer in use; None where there is only one."""
    found = numbers.data.get("domains") or []
    if len(found) < 2:
        return None
    bills = _bills(numbers)
    table: Block = Fold(
        "Domains", (_table(numbers, found, current_tokenizer(numbers.data)),), MARKDOWN
    )
    return Section(
        "domains",
        "By domain",
        "Domains",
        (
            Fold(bills.title, (bills,), MARKDOWN),
            Paragraph(
                "Relative price: tokens per character, where the domain with the most text is 1.",
                "hint",
                PAGE,
            ),
            Fold("Lengths, and bytes per token", (table,)),
        )
        if bills.rows
        else (table,),
    )


def _bills(numbers: Numbers) -> Table:
    """Cost of the prompts of each domain, the dearest first; no rows without a price."""
    bills: list[dict[str, Any]] = numbers.data.get("domain_bills") or []
    of_the = Only("tw", "Of the ")
    share = Only(PAPER, "Share of the ")
    columns = (
        Column("usd", "Cost", kind=money_kind(bill["usd"] for bill in bills)),
        Column("share_of_bill", (of_the, share, "cost"), kind="share"),
        Column("share_of_chars", (of_the, share, "text"), kind="share"),
        Column("n_tokens", "Tokens", forms=PAPER),
        Column("usd_per_mchar", "Per million characters", kind="usd", forms=PAPER),
        Column("premium", "Relative price", kind="ratio"),
    )
    rows = []
    for index in range(len(bills)):
        path = f"domain_bills[{index}]"
        rows.append(TableRow(quoted(numbers, f"{path}.name"), measured(numbers, path, columns)))
    return Table(
        "Cost of each domain",
        "Domain",
        columns,
        tuple(rows),
        label="Cost of the domains",
        most=_MOST_BILLS,
        n_all=len(bills),
    )


def _table(numbers: Numbers, found: list[dict[str, Any]], current: int) -> Table:
    """Documents, tokens and bytes per token of each domain."""
    names = [tokenizer["name"] for tokenizer in numbers.data["tokenizers"]]
    places = [
        {entry["tokenizer"]: index for index, entry in enumerate(domain["tokenizers"])}
        for domain in found
    ]
    counts = [
        domain["tokenizers"][at[names[current]]]["n_tokens"] if names[current] in at else 0
        for domain, at in zip(found, places, strict=True)
    ]
    top = max(counts) or 1
    rows = []
    for index, at in enumerate(places):
        path = f"domains[{index}]"
        of = {name: f"{path}.tokenizers[{place}]" for name, place in at.items()}
        own = of.get(names[current])
        share = own and numbers.share(f"{own}.n_tokens", f"tokenizers[{current}].n_tokens")
        cells = (
            numbers.show(f"{path}.n_documents", "count"),
            numbers.show(f"{path}.n_bytes", "bytes"),
            numbers.show(f"{own}.n_tokens", "count") if own else None,
            Gauge(share or None, round(100 * counts[index] / top, 2)),
            numbers.show(f"{own}.tokens_per_document.p95", "count") if own else None,
            *(
                numbers.show(f"{of[name]}.bytes_per_token", "ratio") if name in of else None
                for name in names
            ),
        )
        rows.append(TableRow(quoted(numbers, f"{path}.name"), cells))
    columns = (
        Column("", "Documents"),
        Column("", "Text", forms=PAPER),
        Column("", "Tokens"),
        Column("", ("Share", Only(PAGE, " of the tokens"))),
        Column("", (Only("twm", "p95"), Only(PAGE, "95% have at most"))),
        *(
            Column(
                "",
                ("Bytes per token", Only(PAPER, (", ", tokenizer_name(numbers, index)))),
                forms="twmh" if index == current else PAPER,
            )
            for index in range(len(names))
        ),
    )
    return Table(
        "Domains of the workload",
        "Domain",
        columns,
        tuple(rows),
        heading="Domains",
        label="Domains, the table",
        most=_MOST,
        n_all=len(found),
        style="sortable domains stack",
    )
