"""Terms whose pieces cost most."""

from __future__ import annotations

from jeton.report.numbers import Numbers
from jeton.report.summary import TermRow, current_tokenizer, worst_terms
from jeton.report.tree import (
    MARKDOWN,
    TERMINAL,
    Column,
    Fold,
    Quoted,
    Section,
    Special,
    Styled,
    Table,
    TableRow,
    Words,
    tokenizer_name,
    words_column,
)
from jeton.report.visible import visible

_MOST = (8, 20, 40)
_N_OPEN = 10
_TITLE = "How your terms are split"


def terms(numbers: Numbers) -> Section | None:
    """The terms that occur, the dearest first; None where none was given or occurs."""
    found = worst_terms(numbers, limit=_MOST[2])
    if not found:
        return None
    values = {"terms": found, "n_open_terms": _N_OPEN}
    blocks = (
        Special("_terms.html.j2", values),
        _cuts(numbers, found),
        Fold(_TITLE, (_pieces(numbers, found),), MARKDOWN),
    )
    return Section("terms", _TITLE, "Terms", blocks)


def _cuts(numbers: Numbers, found: tuple[TermRow, ...]) -> Table:
    """The pieces of the tokenizer in use."""
    name = numbers.data["tokenizers"][current_tokenizer(numbers.data)]["name"]
    rows = []
    for term in found[: _MOST[0]]:
        cut = next((c for c in term.data["cuts"] if c["tokenizer"] == name), None)
        if cut is not None:
            pieces = " | ".join(visible(piece.strip(" ")) for piece in cut["pieces"])
            cells = (term.occurrences.text, str(cut["n_tokens"]), pieces, term.cost)
            rows.append(TableRow(Quoted("", term.data["term"]), cells))
    has_cost = any(term.cost is not None for term in found[: _MOST[0]])
    columns = (
        Column("", "Occurs"),
        Column("", "Tokens"),
        words_column("Pieces"),
        Column("", "Per year", forms=TERMINAL if has_cost else ""),
    )
    title = ("Terms that cost most, as ", Quoted("", name), " splits them")
    return Table(title, "Term", columns, tuple(rows), forms=TERMINAL)


def _pieces(numbers: Numbers, found: tuple[TermRow, ...]) -> Table:
    """The pieces of each tokenizer."""
    names = [tokenizer["name"] for tokenizer in numbers.data["tokenizers"]]
    rows = []
    for term in found[: _MOST[1]]:
        cuts = {cut["tokenizer"]: cut for cut in term.data["cuts"]}
        cells: list[Words] = [term.occurrences.text]
        for name in names:
            pieces: list[Words] = []
            for piece in cuts[name]["pieces"] if name in cuts else ():
                pieces += ["\u00b7" * bool(pieces), Quoted("", piece.strip(" "))]
            count = Styled(f" ({cuts[name]['n_tokens']})", "raw") if name in cuts else ""
            cells.append((*pieces, count))
        rows.append(TableRow(Quoted("", term.data["term"]), (*cells, term.cost)))
    columns = (
        Column("", "Occurs"),
        *(Column("", tokenizer_name(numbers, index)) for index in range(len(names))),
        Column("", "Cost a year of the tokens beyond the first"),
    )
    return Table(_TITLE, "Term", columns, tuple(rows), forms=MARKDOWN)
