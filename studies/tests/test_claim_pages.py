"""claims.md and docs/studies/case-studies/: made from the figures, verdicts follow from them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from studies.claims import __main__ as command
from studies.claims.claim_list import CLAIMS
from studies.claims.figures import Figures
from studies.claims.measuring import GROUPS, group
from studies.claims.pages import STUDIES, pages
from studies.claims.plots import MAX_BYTES, PLOTS, digest, draw, drawn_from
from studies.claims.verdicts import Claim, Verdict, unfounded

DOCS = Path(__file__).resolve().parents[2] / "docs" / "studies"
FIGURES = Figures.read(DOCS / "figures")
MAIN_PAGES = ("claims.md", "domain-tokenizers.md")
AGAIN = "run `python -m studies.claims --pages`"


def test_the_pages_are_those_of_the_figures() -> None:
    made = pages(FIGURES)
    assert sorted(made) == sorted(
        [
            "claims.md",
            "domain-tokenizers.md",
            *(f"case-studies/{path.name}" for path in (DOCS / "case-studies").iterdir()),
        ]
    )
    for path, text in made.items():
        assert (DOCS / path).read_text(encoding="utf-8") == text, AGAIN


def test_every_group_has_its_file_and_every_file_a_group() -> None:
    assert sorted(GROUPS) == sorted(path.stem for path in (DOCS / "figures").glob("*.json"))


def test_every_figure_has_a_unit_and_lies_in_its_interval() -> None:
    for key, figure in FIGURES.by_key.items():
        assert figure.unit, key
        if figure.low is not None and figure.high is not None:
            assert figure.low <= figure.value <= figure.high, key
            assert figure.n, key


def test_claims_have_names_of_their_own() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert {name for claim in CLAIMS for name in claim.groups} <= set(GROUPS)
    for claim in CLAIMS:
        assert bool(claim.missing) == (claim.verdict is Verdict.OPEN), claim.id
        assert claim.groups or claim.verdict is Verdict.OPEN, claim.id


@pytest.mark.parametrize(
    "claim", [c for c in CLAIMS if c.verdict is not Verdict.OPEN], ids=lambda c: c.id
)
def test_a_verdict_falls_with_its_figures(claim: Claim) -> None:
    assert claim.because(FIGURES)
    changed = [_scaled(factor) for factor in (0.0, 1000.0)]
    assert not all(claim.because(figures) for figures in changed)


def test_a_page_is_not_made_with_a_verdict_that_does_not_follow() -> None:
    figures = _scaled(0.0)
    assert "shares" not in unfounded(CLAIMS, FIGURES)
    assert "decode-step" in unfounded(CLAIMS, figures)
    with pytest.raises(ValueError, match=r"no longer follow.*decode-step"):
        pages(figures)


def _scaled(factor: float) -> Figures:
    def times(number: float | None) -> float | None:
        return None if number is None else number * factor

    return Figures(
        {
            key: replace(f, value=f.value * factor, low=times(f.low), high=times(f.high))
            for key, f in FIGURES.by_key.items()
        }
    )


def test_tables_have_as_many_cells_as_their_heads() -> None:
    for path in (*MAIN_PAGES, *(f"case-studies/{name}.md" for name, _ in STUDIES)):
        width = 0
        for line in (DOCS / path).read_text(encoding="utf-8").splitlines():
            if not line.startswith("|"):
                width = 0
                continue
            n = len(re.split(r"(?<!\\)\|", line))
            assert n == (width or n), line
            width = n


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_is_drawn_from_the_committed_figures(name: str) -> None:
    path = DOCS / "figures" / f"{name}.svg"
    assert path.stat().st_size < MAX_BYTES
    svg = path.read_text(encoding="utf-8")
    assert drawn_from(svg) == digest(PLOTS[name], FIGURES), AGAIN
    assert "<script" not in svg
    assert set(re.findall(r'href="([^#"][^"]*)"', svg)) == set()
    assert f"figures/{name}.svg" in "".join(pages(FIGURES).values())


def test_drawing_twice_gives_the_same_bytes() -> None:
    plot = PLOTS["use"]
    assert draw(plot, FIGURES) == draw(plot, FIGURES)
    assert digest(plot, FIGURES) != digest(plot, _scaled(2.0))


def test_every_row_of_the_table_of_claims_is_on_the_page(shared: Path) -> None:
    text = (shared / "REQUIREMENTS.md").read_text(encoding="utf-8")
    table = text.partition("## Claims to test")[2]
    rows = re.findall(r"^\| (?!claim|---)([^|]+) \|", table, re.MULTILINE)
    assert len(rows) > 20
    ours = " ".join(claim.claim for claim in CLAIMS)
    n_chars = 24  # as much as tells the rows apart; some rows became two claims
    assert [row for row in rows if row[:n_chars] not in ours] == []


def test_the_command_measures_writes_and_compares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "figures").mkdir()
    for path in (DOCS / "figures").iterdir():
        (tmp_path / "figures" / path.name).write_bytes(path.read_bytes())
    arguments = ["--docs", str(tmp_path), "--shared", str(tmp_path / "absent")]
    assert command.main([*arguments, "--only", "money", "--only", "domain"]) == 0
    assert "domain: left as it is" in capsys.readouterr().err
    for name in ("claims.md", "case-studies/code-vocabularies.md", "figures/money.json"):
        assert (tmp_path / name).read_bytes() == (DOCS / name).read_bytes()
    assert command.main([*arguments, "--only", "money", "--check"]) == 0
    file = tmp_path / "figures" / "money.json"
    file.write_text(file.read_text().replace('"value": 1460', '"value": 1461'))
    assert command.main([*arguments, "--only", "money", "--check"]) == 1
    assert "ten-percent.usd-per-year" in capsys.readouterr().out


def test_every_group_says_what_it_needs() -> None:
    kinds = {name: group(name).kind for name in GROUPS}
    assert set(kinds.values()) == {"arithmetic", "fast", "long", "timing", "named"}
    assert all(group(name).about for name in GROUPS)
