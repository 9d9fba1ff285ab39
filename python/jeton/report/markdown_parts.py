"""The optional parts of an audit as Markdown: waterfall, domains, trade-off, bill and the like."""

from __future__ import annotations

from jeton.report import evidence_views as evidence
from jeton.report import traffic_views as traffic
from jeton.report.billed_views import billed_view
from jeton.report.markdown_text import escaped, rows, signed, text, written
from jeton.report.model_views import model_cost_view
from jeton.report.money_views import bill_view, once_shown, payback_shown, waterfall_view
from jeton.report.numbers import Numbers, lookup
from jeton.report.spending_views import spending_view

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
        _once(numbers),
    ]


def _once(numbers: Numbers) -> str:
    once, payback = once_shown(numbers), payback_shown(numbers)
    if once is None:
        return ""
    paid = f", paid back in {escaped(signed(payback))} months" if payback else ""
    return f"The changes cost {escaped(signed(once))} once{paid}."


def comparison(numbers: Numbers) -> list[str]:
    """Each figure that changes, today and after all changes."""
    found = traffic.comparison_rows(numbers)
    if not found:
        return []
    body = [
        [
            text(str(lookup(numbers.data, row.path))),
            *(escaped(signed(shown)) for shown in (row.naive, row.engineered, row.change)),
        ]
        for row in found
    ]
    return [rows(["Figure", "Today", "After all changes", "Change"], body)]


def models(numbers: Numbers) -> list[str]:
    """Models by price per document."""
    view = model_cost_view(numbers)
    if view is None:
        return []
    body = [
        [
            f"**{text(row.name)}**" if row.is_cheapest else text(row.name),
            text(row.tokenizer),
            *(escaped(signed(value)) for value in row.values),
        ]
        for row in view.rows
    ]
    header = ["Model", "Tokenizer", *view.labels]
    return ["## Models by price per document", rows(header, body, n_text=2)]


def billed(numbers: Numbers) -> list[str]:
    """Billed tokens by part of the request."""
    view = billed_view(numbers)
    if view is None:
        return []
    body = [
        [text(row.name), *(escaped(signed(v)) for v in (row.tokens, row.cached, row.usd))]
        for row in view.rows
    ]
    return ["## Tokens by part of the request", rows(["Part", *view.labels], body)]


def spending(numbers: Numbers) -> list[str]:
    """Spending of the log, by model; and the models outside the sum."""
    view = spending_view(numbers)
    if view is None or not view.models:
        return []
    body = [
        [
            text(str(lookup(numbers.data, f"{row.path}.logged_as")))
            + (f" ({escaped(row.tariff)})" if row.tariff else ""),
            *(
                escaped(signed(shown))
                for shown in (
                    row.requests,
                    row.input_tokens,
                    row.output_tokens,
                    row.usd,
                    row.share,
                )
            ),
        ]
        for row in view.models
    ]
    changes = [f"- {text(str(lookup(numbers.data, path)))}" for path in view.changes]
    missing = [
        f"- Not in this sum: {text(str(lookup(numbers.data, row.path + '.model'))) or 'no model'}, "
        f"{escaped(written(row.requests))} requests, {escaped(written(row.share))} of the tokens"
        for row in view.unpriced
    ]
    stated = [
        [
            text(str(lookup(numbers.data, f"{row.path}.logged_as")))
            + (" (own key)" if row.is_own_key else ""),
            *(
                escaped(signed(shown))
                for shown in (row.requests, row.stated, row.usd, row.difference)
            ),
        ]
        for row in view.stated
    ]
    heads = ["Model", "Requests", "Stated by the log", "List price", "Difference"]
    return [
        "## Cost by model",
        rows(["Model", "Requests", "Input tokens", "Output tokens", "Cost", "Share"], body),
        *([rows(heads, stated)] if stated else []),
        "\n".join([*missing, *changes]),
    ]


def provider(numbers: Numbers) -> list[str]:
    """Token counts of a closed model's provider."""
    view, data = traffic.provider_view(numbers), numbers.data.get("provider_count")
    if view is None or data is None:
        return []
    if data["missing"]:
        return [f"{text(data['missing'])}."]
    confidence = f" ({view.confidence.text})" if view.confidence else ""
    money = ""
    if view.usd is not None:
        ends = f"{escaped(signed(view.usd_low))} to {escaped(signed(view.usd_high))}"
        money = f": **{escaped(signed(view.usd))} a month**, {ends}"
    return [
        f"The provider of {text(data['model'])} bills {escaped(signed(view.tokens))} input tokens "
        f"({view.basis}; between {escaped(signed(view.low))} and {escaped(signed(view.high))}"
        f"{escaped(confidence)}){money}.",
        f"{text(data['n_tokens']['formula'])}. Source: {text(data['n_tokens']['source'])}",
    ]


def quota(numbers: Numbers) -> list[str]:
    """The traffic against the limits of the API."""
    view = traffic.quota_view(numbers)
    if view is None:
        return []
    body = [
        [
            row.label,
            "**over the limit**" if row.is_exceeded else "within the limit",
            *(escaped(signed(shown)) for shown in (row.peak, row.limit, row.share)),
        ]
        for row in view.rows
    ]
    said = "Your traffic stays within the limits."
    if view.is_exceeded:
        first = f", first at {view.first_exceeded}" if view.first_exceeded else ""
        refused = f" {signed(view.refused)} requests would be refused." if view.refused else ""
        said = f"Your traffic passes a limit{first}.{refused}"
    elif view.months is not None:
        said += f" At this growth it reaches them in {signed(view.months)} months."
    return [
        escaped(said),
        rows(["Limit", "Verdict", "Peak", "Allowed", "Used"], body, n_text=2),
        text(numbers.data["quota"]["formula"]),
    ]


def domain_bills(numbers: Numbers) -> list[str]:
    """Cost of the prompts of each domain."""
    found = traffic.domain_bill_rows(numbers)
    if not found:
        return []
    body = [
        [
            text(str(lookup(numbers.data, row.path))),
            *(
                escaped(written(shown))
                for shown in (
                    row.tokens,
                    row.usd,
                    row.share_of_bill,
                    row.share_of_chars,
                    row.usd_per_mchar,
                    row.premium,
                )
            ),
        ]
        for row in found[:_MAX_DOMAINS]
    ]
    header = ["Domain", "Tokens", "Cost", "Share of the cost", "Share of the text"]
    return [rows([*header, "Per million characters", "Relative price"], body)]


def sampled(numbers: Numbers) -> list[str]:
    """Tokens of the whole workload where a part was counted."""
    found = traffic.sampled_rows(numbers)
    if not found:
        return []
    body = [
        [
            text(str(lookup(numbers.data, row.path))),
            *(escaped(signed(shown)) for shown in (row.tokens, row.low, row.high)),
            escaped(written(row.confidence)),
        ]
        for row in found
    ]
    return [rows(["Tokenizer", "Tokens of all", "From", "To", "Confidence"], body)]


def bill(numbers: Numbers) -> list[str]:
    """A real bill beside what was computed, by model."""
    view = bill_view(numbers)
    if view is None:
        return []
    body = [
        [
            text(str(lookup(numbers.data, f"{row.path}.model"))),
            *(
                escaped(written(shown))
                for shown in (row.requests, row.computed, row.billed, row.difference)
            ),
        ]
        for row in view.models
    ]
    causes = [
        f"- {text(str(lookup(numbers.data, cause.path)))}"
        + (f": {escaped(signed(cause.usd))}" if cause.usd else "")
        for cause in view.causes
    ]
    more = f"{view.n_more_models} more models in the JSON report." if view.n_more_models else ""
    return [
        f"Billed {escaped(written(view.billed))}; your log comes to "
        f"{escaped(written(view.explained))} at list prices; difference "
        f"**{escaped(written(view.difference))}**.",
        rows(["Model", "Requests", "Your log", "Billed", "Difference"], body) if body else "",
        more,
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
    return ["Tokens that stay the same when the text is changed:", rows(["Change", *names], body)]


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
            else f"over your limit: {text(', '.join(row.limits))}"
            if row.limits
            else "a sensible choice"
            if row.data["is_on_front"]
            else "another is better",
            *(escaped(signed(value)) for value in row.values),
        ]
        for row in found[:_MAX_POINTS]
    ]
    header = ["Tokenizer", "Verdict", *(label for _, label, _ in evidence.objectives(numbers))]
    return [f"{best}{text(data['reason'])}", rows(header, body, n_text=2)]


def requests(numbers: Numbers) -> list[str]:
    """Figures of the logs beside their text, and their faults."""
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
        rows(["Problem", "Meaning", "Times"], body, n_text=2) if body else "",
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
