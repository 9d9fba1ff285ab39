"""The sections of an audit: a module each, with a function that makes it, and one line here."""

from __future__ import annotations

from collections.abc import Callable

from jeton.report.numbers import Numbers
from jeton.report.sections.basis import basis
from jeton.report.sections.bill import bill
from jeton.report.sections.caches import caches
from jeton.report.sections.domains import domains
from jeton.report.sections.economics import economics
from jeton.report.sections.findings import findings
from jeton.report.sections.gate import gate
from jeton.report.sections.maturity import maturity
from jeton.report.sections.models import models
from jeton.report.sections.provider import provider
from jeton.report.sections.quota import quota
from jeton.report.sections.requests import requests
from jeton.report.sections.samples import samples
from jeton.report.sections.spending import spending
from jeton.report.sections.terms import terms
from jeton.report.sections.tokenizers import tokenizers
from jeton.report.sections.tradeoff import tradeoff
from jeton.report.sections.traffic import traffic
from jeton.report.sections.training import training
from jeton.report.sections.waterfall import waterfall
from jeton.report.sections.what_if import what_if
from jeton.report.tree import Section

SECTIONS: tuple[Callable[[Numbers], Section | None], ...] = (
    gate,
    findings,
    what_if,
    provider,
    waterfall,
    models,
    spending,
    caches,
    bill,
    domains,
    quota,
    traffic,
    economics,
    tokenizers,
    tradeoff,
    training,
    requests,
    maturity,
    samples,
    basis,
    terms,
)
"""All sections, in the order of the page and of Markdown, which both have folded ones last.

A Markdown that is too long loses its last parts: terms, which are many, stand there.
"""


def sections_of(numbers: Numbers) -> list[Section]:
    """The sections that a report has."""
    return [section for make in SECTIONS if (section := make(numbers)) is not None]
