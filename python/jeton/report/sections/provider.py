"""Token counts of a closed model's provider."""

from __future__ import annotations

from typing import Any

from jeton.report.numbers import Kind, Numbers, Shown
from jeton.report.tree import (
    MARKDOWN,
    PAGE,
    FactList,
    Fold,
    Line,
    Only,
    Paragraph,
    Section,
    Styled,
    Words,
    figure_table,
    quoted,
)

_AT = "provider_count"
_FIGURES = (
    ("n_tokens", "Input tokens"),
    ("tokens_per_request", "Input tokens of a request"),
    ("usd_per_request", "Price of a request"),
    ("usd_per_month", "Price of a month"),
)


def provider(numbers: Numbers) -> Section | None:
    """The provider's count; None where the report has nothing of it."""
    data = numbers.data.get(_AT)
    if data is None:
        return None
    if data["missing"]:
        missing = quoted(numbers, f"{_AT}.missing")
        blocks = (Line("Counts", missing), Paragraph((missing, Only(MARKDOWN, "."))))
        line = _billed(numbers)
        return _section((line, blocks[1]) if line else blocks)
    named: list[tuple[Words, str]] = [
        (label, f"{_AT}.{key}") for key, label in _FIGURES if data[key] is not None
    ]
    title = "Formulas of the provider's count"
    formula, source = (quoted(numbers, f"{_AT}.n_tokens.{key}") for key in ("formula", "source"))
    return _section((
        _line(numbers, data),
        Paragraph(_said(numbers, data), "", MARKDOWN),
        Paragraph((formula, ". Source: ", source), "", MARKDOWN),
        Paragraph(_origin(numbers, data), forms=PAGE),
        FactList(_facts(numbers, data), "facts small"),
        Fold(title, (figure_table(numbers, title, named),)),
    ))  # fmt: skip


def _section(blocks: Any) -> Section:
    return Section(
        "provider",
        "Tokens as the provider counts them",
        "Provider's count",
        blocks,
        is_open=False,
        hint="how the billed count was learned",
    )


def _known(numbers: Numbers, key: str, kind: Kind, basis: str = "exact") -> Shown | None:
    return numbers.show(f"{_AT}.{key}", kind, basis=basis)


def _basis(data: dict[str, Any]) -> str:
    return str(data["n_tokens"]["basis"]) if data["n_tokens"] else "exact"


def _billed(numbers: Numbers) -> Line | None:
    """The tokens that the usage of a log states, of all models."""
    ledger, said = numbers.data.get("ledger"), list[Words]()
    if not ledger or not numbers.data.get("requests"):
        return None
    for key, word in (("input_tokens", "input"), ("output_tokens", "output")):
        if ledger["amounts"].get(key):
            shown = numbers.show(f"ledger.amounts.{key}", "about")
            said += [" and " * bool(said), shown, f" {word} tokens"]
    return Line("Billed", tuple(said)) if said else Line("Billed", "", "")


def _line(numbers: Numbers, data: dict[str, Any]) -> Line | None:
    of_log = _billed(numbers)
    if of_log is not None:
        return of_log
    about = numbers.show(f"{_AT}.n_tokens.value", "about") if data["n_tokens"] else None
    if about is None:
        return None
    low, high = _known(numbers, "n_tokens_low", "count"), _known(numbers, "n_tokens_high", "count")
    basis = _basis(data)
    ends = f" ({low.text} to {high.text})" if low and high and low.text != high.text else ""
    is_learned = data["n_calibration_requests"] > 0
    how = "learned from the usage in your log" if is_learned else f"{basis}{ends}"
    about_it = "" if basis == "exact" else "About "
    model = quoted(numbers, f"{_AT}.model")
    return Line("Billed", (about_it, about, " input tokens as ", model, f" bills them, {how}"))


def _said(numbers: Numbers, data: dict[str, Any]) -> Words:
    basis = _basis(data)
    low, high = (_known(numbers, f"n_tokens_{end}", "count", basis) for end in ("low", "high"))
    confidence = _known(numbers, "confidence", "share")
    usd = numbers.figure(f"{_AT}.usd_per_month")
    money: Words = ""
    if usd is not None:
        ends = [_known(numbers, f"usd_per_month_{end}", "usd", basis) for end in ("low", "high")]
        span = (", ", ends[0], " to ", ends[1]) if all(ends) else ""
        money = (": ", Styled((usd, " a month"), "strong"), span)
    return (
        "The provider of ", quoted(numbers, f"{_AT}.model"), " bills ",
        numbers.figure(f"{_AT}.n_tokens"), f" input tokens ({basis}; between ", low, " and ", high,
        (" (", confidence, ")") if confidence else "", ")", money, ".",
    )  # fmt: skip


def _origin(numbers: Numbers, data: dict[str, Any]) -> Words:
    """How the count was found."""
    tokenizer = quoted(numbers, f"{_AT}.tokenizer")
    learned = _known(numbers, "n_calibration_requests", "count")
    how: Words = (
        "It is estimated here from ", tokenizer, ", a public tokenizer, times a factor. Usage in a "
        "log would make it exact.",
    )  # fmt: skip
    if data["n_calibration_requests"] > 0:
        how = ("Its count was learned from the usage in ", learned, " requests of your log.")
    cost = " The cost above uses this count." if numbers.data.get("waterfall") else ""
    model = quoted(numbers, f"{_AT}.model")
    return ("The provider of ", model, " bills the tokens that it counts itself. ", how, cost)


def _facts(numbers: Numbers, data: dict[str, Any]) -> tuple[tuple[Words, ...], ...]:
    basis = _basis(data)
    tokens = numbers.figure(f"{_AT}.n_tokens")
    against: Words = ""
    if data["n_tokens"] and (
        change := numbers.change(f"{_AT}.n_tokens.value", f"{_AT}.n_counted_tokens")
    ):
        against = Styled((change, " against ", quoted(numbers, f"{_AT}.tokenizer")), "hint")
    low, high = (_known(numbers, f"n_tokens_{end}", "count", basis) for end in ("low", "high"))
    confidence = _known(numbers, "confidence", "share")
    found: list[tuple[Words, ...]] = [
        ("Input tokens", (tokens, against)),
        (("Range", (", ", confidence) if confidence else ""), (low, " to ", high)),
        ("A request", numbers.figure(f"{_AT}.tokens_per_request")),
    ]
    if error := _known(numbers, "request_error_share", "share"):
        found.append(("One request is within", ("\u00b1 ", error)))
    if usd := numbers.figure(f"{_AT}.usd_per_month"):
        low, high = (_known(numbers, f"usd_per_month_{e}", "usd", basis) for e in ("low", "high"))
        found += [("A month", usd), ("Range of a month", (low, " to ", high))]
    elif usd := numbers.figure(f"{_AT}.usd_per_request"):
        found.append(("USD a request", usd))
    return tuple(found)
