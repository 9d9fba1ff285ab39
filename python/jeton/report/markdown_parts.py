"""The optional parts of an audit as Markdown: waterfall, domains, trade-off, bill and the like."""

from __future__ import annotations

from jeton.report import evidence_views as evidence
from jeton.report.markdown_text import escaped, rows, signed, text, written
from jeton.report.money_views import bill_view, waterfall_view
from jeton.report.numbers import Numbers, lookup

__all__ = ["bill", "domains", "maturity", "requests", "stability", "tradeoff", "waterfall"]

_MAX_DOMAINS = 20
_MAX_POINTS = 20


def waterfall(numbers: Numbers) -> list[str]:
    """The bill as a product, and what each remedy leaves of it."""
    view = waterfall_view(numbers)
    if view is None:
        return []
    products = [
        f"{product.part.capitalize()}: "
        + " \u00d7 ".join(
            f"{escaped(signed(factor.number))} {escaped(factor.words)}"
            for factor in product.factors
        )
        + (
            f" {'=' if product.is_equal else '→ with the cache'} "
            f"**{escaped(signed(product.total))}** a month"
            if product.total
            else ""
        )
        for product in view.products
    ]
    body = [
        [
            row.name if row.index is None else text(str(lookup(numbers.data, row.name))),
            escaped(signed(row.delta)),
            escaped(signed(row.after)),
        ]
        for row in view.rows
    ]
    return [
        "## Where the money goes",
        "  \n".join(products),
        rows(["Step", "Change a month", "Bill a month"], body),
    ]


def bill(numbers: Numbers) -> list[str]:
    """A real bill beside what was computed."""
    view = bill_view(numbers)
    if view is None:
        return []
    lines = numbers.data["bill"]["lines"]
    body = [
        [
            text(lines[row.index]["model"]),
            text(lines[row.index]["what"].replace("_", " ")),
            *(
                escaped(written(shown))
                for shown in (row.n_tokens, row.price, row.computed, row.billed, row.difference)
            ),
        ]
        for row in view.rows
    ]
    header = ["Model", "What", "Tokens", "USD a million", "Computed", "Billed", "Difference"]
    causes = [
        f"- {text(str(lookup(numbers.data, cause.path)))}"
        + (f": {escaped(signed(cause.usd))}" if cause.usd else "")
        for cause in view.causes
    ]
    return [
        f"Billed {escaped(written(view.billed))}, explained {escaped(written(view.explained))}, "
        f"unexplained **{escaped(written(view.unexplained))}**.",
        rows(header, body, n_text=2),
        "\n".join(causes),
    ]


def domains(numbers: Numbers, *, current: int) -> list[str]:
    """Tokens of each domain."""
    found = evidence.domain_rows(numbers, current=current)
    if not found:
        return []
    names = [text(tokenizer["name"]) for tokenizer in numbers.data["tokenizers"]]
    body = [
        [
            text(numbers.data["domains"][row.index]["name"]),
            *(
                escaped(written(shown))
                for shown in (
                    row.documents,
                    row.size,
                    row.tokens,
                    row.share,
                    row.p95,
                    *row.bytes_per_token,
                )
            ),
        ]
        for row in found[:_MAX_DOMAINS]
    ]
    header = ["Domain", "Documents", "Text", "Tokens", "Share", "p95"]
    return [rows([*header, *(f"Bytes per token, {name}" for name in names)], body)]


def stability(numbers: Numbers) -> list[str]:
    """The share of ids that a change of the text leaves."""
    found = evidence.stability_rows(numbers)
    if not found:
        return []
    names = [text(tokenizer["name"]) for tokenizer in numbers.data["tokenizers"]]
    body = [[text(row.label), *(escaped(written(v)) for v in row.values)] for row in found]
    return ["Ids that stay when the text changes:", rows(["Change", *names], body)]


def tradeoff(numbers: Numbers) -> list[str]:
    """Candidates by money, time, memory and quality, the best first."""
    found = evidence.point_rows(numbers)
    if not found:
        return []
    data = numbers.data["tradeoff"]
    best = "" if evidence.names_the_best(data) else f"Best: **{text(data['best'])}**. "
    body = [
        [
            text(row.data["name"]),
            "**best**"
            if row.is_best
            else f"above the limit: {text(', '.join(row.limits))}"
            if row.limits
            else "on the front"
            if row.data["is_on_front"]
            else "another is better",
            *(escaped(signed(value)) for value in row.values),
        ]
        for row in found[:_MAX_POINTS]
    ]
    header = ["Candidate", "Verdict", *(label for _, label, _ in evidence.objectives(numbers))]
    return [f"{best}{text(data['reason'])}", rows(header, body, n_text=2)]


def requests(numbers: Numbers) -> list[str]:
    """What the logs say beside their text, and what was wrong in them."""
    data = numbers.data.get("requests")
    if not data:
        return []
    whole = "requests.n_requests"
    facts = [
        f"{written(numbers.show(whole, 'count'))} requests",
        f"{written(numbers.share('requests.n_with_usage', whole))} with usage",
        f"{written(numbers.share('requests.n_with_response', whole))} with response",
    ]
    issues = evidence.log_issues(numbers)
    body = [[text(issue.name), escaped(issue.meaning), written(issue.n)] for issue in issues]
    return [
        escaped(", ".join(facts)) + ".",
        rows(["Trouble", "What it means", "Times"], body, n_text=2) if body else "",
    ]


def maturity(numbers: Numbers) -> list[str]:
    """The verdict on the pipeline, its evidence and the next step."""
    data = numbers.data.get("maturity")
    if not data:
        return []
    return [
        f"The pipeline is **{text(data['level'])}**.",
        "\n".join(f"- {text(sentence)}" for sentence in data["evidence"]),
        f"Next: {text(data['next_step'])}" if data["next_step"] else "",
    ]
