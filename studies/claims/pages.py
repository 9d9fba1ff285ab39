"""The pages, from templates and figures: claims, case studies, domain tokenizers.

Nothing is measured here, so the pages can be made and compared anywhere. A claim whose verdict no
longer follows from its figures stops the making.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jeton._files import write_whole
from studies.claims.claim_list import CLAIMS
from studies.claims.figures import Figures
from studies.claims.measuring import group
from studies.claims.plots import PLOTS, write_plots
from studies.claims.verdicts import Claim, Verdict, unfounded
from studies.claims.writing import Writer
from studies.domain_tokenizers import recipes
from studies.domain_tokenizers.terms import LISTS
from studies.domain_tokenizers.texts import DOMAINS, GENERAL

__all__ = ["STUDIES", "pages", "write_pages"]

TEMPLATES = Path(__file__).with_name("templates")

STUDIES = (
    ("gpt-2-to-gpt-4o", "From GPT-2 to GPT-4o"),
    ("llama-2-to-llama-3", "From Llama 2 to Llama 3"),
    ("code-vocabularies", "Vocabularies for code"),
    ("multilingual-unigram", "Multilingual Unigram: XLM-R and mT5"),
    ("biomedical-and-legal-berts", "Biomedical and legal BERTs"),
)
"""Names of files and titles."""


def pages(figures: Figures) -> dict[str, str]:
    """All pages by path below docs/.

    Raises:
        ValueError: A verdict does not follow from the figures.
    """
    wrong = unfounded(CLAIMS, figures)
    if wrong:
        raise ValueError(f"verdicts that no longer follow from the figures: {', '.join(wrong)}")
    environment = _environment(figures)
    rows = [_row(environment, claim) for claim in CLAIMS]
    sections = [_section(environment, claim, row) for claim, row in zip(CLAIMS, rows, strict=True)]
    written = {
        "claims.md": environment.get_template("claims.md").render(
            rows=rows, sections=sections, studies=STUDIES, n_claims=len(CLAIMS), tally=_tally()
        )
    }
    written["domain-tokenizers.md"] = environment.get_template("domain-tokenizers.md").render(
        domains={domain: tuple(source.name for source in of) for domain, of in DOMAINS.items()},
        general=tuple(source.name for source in GENERAL),
        lists=LISTS,
        recipe=recipes,
        value=figures.value,
        has=figures.by_key.__contains__,
    )
    for name, title in STUDIES:
        text = environment.get_template(f"case-studies/{name}.md").render(title=title)
        written[f"case-studies/{name}.md"] = text
    return {path: f"{text.rstrip()}\n" for path, text in written.items()}


def write_pages(docs: Path, figures: Figures) -> None:
    """Write the pages and their plots.

    Raises:
        OSError: A file cannot be written.
    """
    made = pages(figures)
    write_plots(docs / "figures", figures)
    for path, text in made.items():
        target = docs / path
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, text)


def _environment(figures: Figures) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.globals |= Writer(figures).functions()
    environment.globals["plots"] = PLOTS
    for name, prefix in (
        ("use", "use.used"),
        ("static", "traffic.lift-over-static"),
        ("paged", "traffic.lift-over-dynamic"),
    ):
        of = figures.below(prefix)
        environment.globals[f"{name}_least"] = f"{prefix}.{min(of, key=lambda k: of[k].value)}"
        environment.globals[f"{name}_most"] = f"{prefix}.{max(of, key=lambda k: of[k].value)}"
    return environment


def _verdict(claim: Claim) -> str:
    if claim.verdict is Verdict.WHERE:
        return f"**holds where** {claim.words}"
    return f"**{claim.verdict.value}**" + (f": {claim.words}" if claim.words else "")


def _row(environment: Any, claim: Claim) -> dict[str, str]:
    figure = environment.from_string(claim.figure).render()
    return {
        "id": claim.id,
        "claim": claim.claim,
        "verdict": _verdict(claim),
        "figure": figure or "not measured yet",
    }


def _section(environment: Any, claim: Claim, row: dict[str, str]) -> dict[str, Any]:
    text = environment.get_template(f"claims/{claim.id}.md").render()
    return {
        **row,
        "text": text.strip(),
        "commands": [
            group(name).command or f"python -m studies.claims --only {name}"
            for name in claim.groups
        ],
        "files": [f"figures/{name}.json" for name in claim.groups],
        "missing": claim.missing,
    }


def _tally() -> list[tuple[str, int]]:
    names = {
        Verdict.HOLDS: "hold",
        Verdict.WHERE: "hold in some cases",
        Verdict.REFUTED: "are refuted",
        Verdict.ARITHMETIC: "are errors of arithmetic",
        Verdict.OPEN: "open",
    }
    counts = {v: sum(claim.verdict is v for claim in CLAIMS) for v in Verdict}
    return [(names[v], n) for v, n in counts.items() if n]
