"""The token inspector: one page on which every token of a text says what it is.

The page holds its data as JSON and draws a document when it is asked for, so that it opens at once;
without scripts it still has the worst documents, the terms and the scripts as tables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jeton.report.json_report import embed_json
from jeton.report.numbers import Numbers, Shown
from jeton.report.result_page import Opening, Sum

if TYPE_CHECKING:
    from jeton.comparing import Inspection
    from jeton.comparing.inspecting import DocumentCut, InspectedDocument, InspectedTokenizer

MAX_EMBEDDED_BYTES = 2_000_000
"""Bytes of the embedded JSON; with the tables, styles and charts the page stays below 3 MB."""

_KEPT_SHARE = 0.85
"""Share of the documents that stay, where their JSON turned out larger than was estimated."""

_N_WORST = 12
_EXCERPT_CHARS = 90


@dataclass(frozen=True, slots=True)
class InspectedTerm:
    """One term; ``pieces`` by tokenizer."""

    path: str
    occurrences: Shown | None
    counts: tuple[Shown | None, ...]
    pieces: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class ScriptRow:
    """One script of the text."""

    name: str
    share: Shown | None
    tokens: tuple[Shown | None, ...]
    bytes_per_token: tuple[Shown | None, ...]


@dataclass(frozen=True, slots=True)
class WorstRow:
    """One of the documents that cost most tokens for their bytes."""

    index: int
    excerpt: str
    size: Shown | None
    tokens: tuple[Shown | None, ...]


@dataclass(frozen=True, slots=True)
class InspectorContext:
    """Values of the template; ``data`` is the return value of ``embedded``."""

    data: dict[str, Any]
    embedded: str
    terms: tuple[InspectedTerm, ...]
    scripts: tuple[ScriptRow, ...]
    worst: tuple[WorstRow, ...]
    all_scripts: tuple[str, ...]
    all_languages: tuple[str, ...]


def inspector_html(inspection: Inspection) -> str:
    """The inspector as a page of its own; the same inspection gives the same text."""
    from jeton._core import __version__
    from jeton.report.page import asset, page_context, rendered

    inspector = inspector_context(inspection)
    context = {
        **page_context(Numbers(inspector.data), 0),
        "title": "Token inspector",
        "opening": _opening(inspector.data),
        "inspector": inspector,
        "css": asset("report.css") + asset("tokens.css") + asset("inspector.css"),
        "js": asset("tokens.js") + asset("inspector.js") + asset("copy.js"),
        "version": __version__,
    }
    return rendered("inspector.html.j2", context)


def inspector_context(inspection: Inspection) -> InspectorContext:
    """Rows of the tables and the JSON that the page draws from, within its bound."""
    data = _data(inspection)
    embedded = embed_json(data)
    while len(embedded.encode()) > MAX_EMBEDDED_BYTES and len(inspection.documents) > 1:
        # The worst come first; the last ones are missed least.
        n_kept = max(1, int(len(inspection.documents) * _KEPT_SHARE))
        inspection = replace(inspection, documents=inspection.documents[:n_kept])
        data = _data(inspection)
        embedded = embed_json(data)
    numbers = Numbers(data)
    n_tokenizers = range(len(data["tokenizers"]))
    return InspectorContext(
        data=data,
        embedded=embedded,
        terms=tuple(
            InspectedTerm(
                f"terms[{index}].term",
                numbers.show(f"terms[{index}].n_occurrences", "count"),
                tuple(
                    numbers.show(f"terms[{index}].cuts[{place}].n_tokens", "count")
                    for place in n_tokenizers
                ),
                tuple(tuple(cut["pieces"]) for cut in term["cuts"]),
            )
            for index, term in enumerate(data["terms"])
        ),
        scripts=tuple(
            ScriptRow(
                script["script"],
                numbers.show(f"scripts[{index}].char_share", "share"),
                tuple(
                    numbers.show(f"scripts[{index}].n_tokens[{place}]", "count")
                    for place in n_tokenizers
                ),
                tuple(
                    numbers.show(f"scripts[{index}].bytes_per_token[{place}]", "ratio")
                    for place in n_tokenizers
                ),
            )
            for index, script in enumerate(data["scripts"])
        ),
        worst=tuple(
            WorstRow(
                index,
                " ".join(document["text"].split())[:_EXCERPT_CHARS],
                numbers.show(f"documents[{index}].n_bytes", "bytes"),
                tuple(
                    numbers.show(f"documents[{index}].n_tokens[{place}]", "count")
                    for place in n_tokenizers
                ),
            )
            for index, document in enumerate(data["documents"][:_N_WORST])
        ),
        all_scripts=tuple(sorted({d["script"] for d in data["documents"] if d["script"]})),
        all_languages=tuple(sorted({d["language"] for d in data["documents"]})),
    )


def _opening(data: dict[str, Any]) -> Opening:
    """The worst document beside the whole text, or the best tokenizer beside the first."""
    numbers, items = Numbers(data), data["tokenizers"]
    if len(items) > 1:
        best = min(range(len(items)), key=lambda n: items[n]["n_tokens"])
        sums = tuple(
            Sum(
                items[n]["name"], numbers.show(f"tokenizers[{n}].n_tokens", "count") or "", "tokens"
            )
            for n in dict.fromkeys((0, best))
        )
        name = items[0]["name"]
        if not best:
            return Opening(f"Keep {name}: the others need as many tokens or more", sums)
        saved = 1 - items[best]["n_tokens"] / max(items[0]["n_tokens"], 1)
        return Opening(f"{items[best]['name']} needs {saved:.1%} fewer tokens than {name}", sums)
    total = Sum("All texts", numbers.show("tokenizers[0].n_tokens", "count") or "", "tokens")
    worst = next((one for one in data["documents"] if one["n_tokens"][0]), None)
    if worst is None:
        return Opening("There is no token to look at", (total,))
    each, mean = worst["n_bytes"] / worst["n_tokens"][0], data["n_bytes"] / items[0]["n_tokens"]
    if len(data["documents"]) == 1 or each > 0.9 * mean:
        return Opening("Point at a token: its id, bytes and rank stand below", (total,))
    return Opening(
        "Look at the worst document first: it gets fewest bytes from a token",
        (
            Sum("All texts", f"{mean:.2f}", "bytes a token"),
            Sum("The worst document", f"{each:.2f}", "bytes a token"),
        ),
    )


def _data(inspection: Inspection) -> dict[str, Any]:
    return {
        "schema_version": "jeton.inspect/1",
        "n_documents": inspection.n_documents,
        "n_bytes": inspection.n_bytes,
        "is_whole": inspection.is_whole,
        "tokenizers": [_tokenizer(item) for item in inspection.tokenizers],
        "documents": [_document(item) for item in inspection.documents],
        "terms": [
            {
                "term": item.term,
                "n_occurrences": item.n_occurrences,
                "cuts": [
                    {"n_tokens": cut.n_tokens, "ids": list(cut.ids), "pieces": list(cut.pieces)}
                    for cut in item.cuts
                ],
            }
            for item in inspection.terms
        ],
        "scripts": [
            {
                "script": item.script,
                "n_chars": item.n_chars,
                "char_share": item.char_share,
                "n_tokens": list(item.n_tokens),
                "bytes_per_token": list(item.bytes_per_token),
            }
            for item in inspection.scripts
        ],
    }


def _tokenizer(item: InspectedTokenizer) -> dict[str, Any]:
    """``tokens`` by id: hexadecimal bytes, rank, times shown, 1 for a special token."""
    return {
        "name": item.name,
        "algorithm": item.algorithm,
        "vocab_size": item.vocab_size,
        "rank_kind": item.rank_kind,
        "n_tokens": item.n_tokens,
        "tokens": {
            str(token.id): [token.data.hex(), token.rank, token.n_shown]
            + ([1] if token.is_special else [])
            for token in item.tokens
        },
    }


def _document(item: InspectedDocument) -> dict[str, Any]:
    return {
        "source": item.source,
        "domain": item.domain,
        "language": item.language,
        "script": item.script,
        "text": item.text,
        "first_char": item.first_char,
        "first_byte": item.first_byte,
        "n_chars": item.n_chars,
        "n_bytes": item.n_bytes,
        "n_tokens": list(item.n_tokens),
        "n_copies": item.n_copies,
        "cuts": [_cut(cut) for cut in item.cuts],
    }


def _cut(cut: DocumentCut) -> dict[str, Any]:
    """Ids, code points of each, and by token how far it begins from the end of the one before."""
    gaps, position = {}, 0
    for index, (start, end) in enumerate(zip(cut.starts, cut.ends, strict=True)):
        if start != position:
            gaps[str(index)] = start - position
        position = end
    lengths = [end - start for start, end in zip(cut.starts, cut.ends, strict=True)]
    return {"ids": list(cut.ids), "lengths": lengths, "gaps": gaps}
