"""All figures of the page, one part after the other; what the work folder has is not made again."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic

from studies.claims.data import Data
from studies.claims.figures import Figure
from studies.domain_tokenizers.agreement import measure_boundaries, measure_parity
from studies.domain_tokenizers.costs import measure_costs, measure_layers
from studies.domain_tokenizers.recipes import described
from studies.domain_tokenizers.steps import measure_steps
from studies.domain_tokenizers.terms import measure_terms
from studies.domain_tokenizers.texts import DOMAINS, Texts
from studies.domain_tokenizers.tokens import (
    WEIGHED_DOMAINS,
    Case,
    cases,
    measure_alone,
    measure_case,
    measure_tokens,
)
from studies.domain_tokenizers.work import Work

__all__ = ["measure"]


def measure(data: Data, work_folder: Path, *, domains: tuple[str, ...] = ()) -> dict[str, Figure]:
    """Train, measure, and return the figures by key.

    Args:
        data: The shared folder.
        work_folder: Where trained tokenizers and measurements are kept.
        domains: The tokens of these domains alone; none: everything.
    """
    work = Work.of(work_folder, data.folder, described())
    started = monotonic()

    def say(words: str) -> None:
        sys.stderr.write(f"{monotonic() - started:6.0f} s  {words}\n")
        sys.stderr.flush()

    texts = Texts.read(data.folder / "corpora")
    say("read and split")
    figures: dict[str, Figure] = {}
    for (domain, name), documents in texts.by_source.items():
        if domain in (domains or DOMAINS) or not domain:
            key = f"texts.{domain or 'general'}.{name}"
            n_bytes = sum(len(document.text.encode()) for document in documents)
            figures[f"{key}.mb"] = Figure(n_bytes / 1e6, "MB", n=len(documents))
            figures[f"{key}.left-out"] = Figure(texts.n_left_out[domain, name], "documents")
    found: dict[str, dict[str | None, Case]] = {}
    for domain, left_out in cases():
        if domain in (domains or DOMAINS):
            case = measure_case(work, texts, data, domain, left_out)
            found.setdefault(domain, {})[left_out] = case
            say(f"{domain}, without {left_out or 'nothing'}")
    for domain, of in found.items():
        figures |= measure_tokens(domain, of)
    say("tokens")
    if domains:
        return figures
    for domain, of in found.items():
        figures |= measure_steps(work, texts, data, domain, of[None])
        say(f"steps, {domain}")
    for domain in WEIGHED_DOMAINS:
        figures |= measure_alone(work, texts, data, domain)
        say(f"alone, {domain}")
    figures |= measure_terms(work, texts, data)
    say("terms")
    for domain in found:
        figures |= measure_costs(work, texts, data, domain)
        figures |= measure_layers(figures, domain)
        say(f"costs, {domain}")
    figures |= measure_boundaries(work, texts, data)
    say("boundaries")
    figures |= measure_parity(work, data)
    say("parity")
    return figures
