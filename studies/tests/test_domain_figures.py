"""Arithmetic of tokens: changes, steps that add up, seams, parity; and the committed figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jeton
from jeton import _core
from studies.claims.data import Data
from studies.claims.figures import Figures, differences
from studies.domain_tokenizers import __main__ as command
from studies.domain_tokenizers.agreement import parity_figures
from studies.domain_tokenizers.costs import cut_places, lost_at_the_end
from studies.domain_tokenizers.measuring import measure
from studies.domain_tokenizers.recipes import SIZES, TARGET_SIZE, described, learn
from studies.domain_tokenizers.steps import STEPS, step, steps
from studies.domain_tokenizers.terms import LISTS, read_list
from studies.domain_tokenizers.texts import DOMAINS
from studies.domain_tokenizers.tokens import PUBLISHED, Case, cases, change, measure_tokens
from studies.domain_tokenizers.work import Work

DOCS = Path(__file__).resolve().parents[2] / "docs" / "studies"
FIGURES = Figures.read(DOCS / "figures")


def test_a_change_is_that_of_the_sums() -> None:
    found = change(np.array([1, 2, 3]), np.array([2, 2, 4]))
    assert found.value == 6 / 8 - 1
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high


def test_steps_add_up() -> None:
    draw = np.random.Generator(np.random.PCG64(0))
    tokens = draw.integers(50, 500, (40, 5))
    found = steps(tokens)
    whole = step(tokens, 0, 4)
    assert len(found) == 4
    assert sum(figure.value for figure in found) == pytest.approx(whole.value, abs=1e-12)
    assert whole.value == pytest.approx(tokens[:, 4].sum() / tokens[:, 0].sum() - 1)
    for figure in (*found, whole):
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low <= figure.value <= figure.high


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_committed_steps_add_up_to_the_committed_change(domain: str) -> None:
    of = FIGURES.below(f"domains.steps.{domain}")
    assert set(of) == {*STEPS, "all"}
    assert sum(of[name].value for name in STEPS) == pytest.approx(of["all"].value, abs=1e-5)
    total = FIGURES.value(f"domains.change.{domain}.same.superwords.{TARGET_SIZE}")
    assert of["all"].value == pytest.approx(total, abs=1e-5)


@pytest.mark.parametrize("domain", DOMAINS)
def test_more_ids_never_need_more_tokens(domain: str) -> None:
    for split in ("same", "new"):
        for kind in ("plain", "superwords"):
            row = [FIGURES.value(f"domains.change.{domain}.{split}.{kind}.{s}") for s in SIZES]
            assert row == sorted(row, reverse=True)


def test_both_splits_are_measured_and_new_sources_pooled() -> None:
    assert len(cases()) == len(DOMAINS) + sum(s.rotated for of in DOMAINS.values() for s in of)
    domain = "finance"
    names = [*PUBLISHED, *(f"{kind}.{s}" for kind in ("plain", "superwords") for s in SIZES)]

    def case(n_documents: int, source: int, ours: int) -> Case:
        tokens = {name: np.full(n_documents, 100 if name in PUBLISHED else ours) for name in names}
        numbers = np.full(n_documents, source)
        return Case(np.full(n_documents, 400), numbers, tokens)

    same = case(4, 0, 80)
    same.source[2:] = 1
    found = measure_tokens(
        domain, {None: same, "earnings calls": case(3, 0, 90), "annual reports": case(1, 1, 110)}
    )
    assert found["change.finance.same.plain.64000"].value == pytest.approx(-0.2)
    assert found["change.finance.new.plain.64000"].value == pytest.approx(-0.05)
    assert found["by-source.finance.annual reports.new.plain.64000"].value == pytest.approx(0.1)
    assert found["bytes-per-token.finance.same.o200k_base"].value == 4


def test_seams_are_where_the_tokens_change() -> None:
    texts = ["at the end of the day the end of the road"] * 20
    plain = jeton.train(iter(texts), vocab_size=272, special_tokens=())
    superwords = learn([(texts, 1)], vocab_size=300, transition_size=270)
    text = texts[0]
    places = cut_places(text)
    assert [text[:place].split()[-1] for place in places] == text.split()[:-1]
    assert all(lost_at_the_end(plain, text, place) == 0 for place in places)
    lost = [lost_at_the_end(superwords, text, place) for place in places]
    assert any(lost)
    for place, n_lost in zip(places, lost, strict=True):
        prompt, whole = superwords.encode(text[:place]), superwords.encode(text)
        n_same = len(prompt) - n_lost
        assert prompt[:n_same] == whole[:n_same]
        assert n_lost == 0 or prompt[n_same] != whole[n_same]


def test_weights_count() -> None:
    once = [(["abab " * 9], 1), (["cdcd " * 9], 5)]
    tokenizer = learn(once, vocab_size=257)
    assert tokenizer.id_to_bytes(256) == b"cd"


def test_parity_of_known_tokens() -> None:
    tokens = np.array([[10, 10, 40], [10, 10, 40]])
    plain = np.array([[10, 20, 40], [10, 20, 40]])
    found = parity_figures(tokens, plain, english=0)
    assert found["dearest"].value == 4
    assert found["all"].value == pytest.approx(60 / 70 - 1)
    assert found["english"].value == 0
    even = parity_figures(np.full((2, 3), 7), plain, english=0)
    assert even["gini"].value == pytest.approx(0)
    assert found["gini"].value > 0.2


def test_lists_of_terms(tmp_path: Path, shared: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text('a,"x, y"\nb,z\nc,z\n', encoding="utf-8")
    assert read_list(path, 1) == ["x, y", "z"]
    for name, (domain, file, column) in LISTS.items():
        assert domain in DOMAINS
        terms = read_list(shared / "data" / "terms" / file, column)
        assert len(terms) > 100, name
        assert not any(term.lower() == "term" for term in terms[:2])


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "a.jsonl.zst").write_bytes(b"one")
    work = Work.of(tmp_path / "work", tmp_path, described())
    made: list[str] = []

    def train() -> _core.Tokenizer:
        made.append("tokenizer")
        return learn([(["abab"], 1)], vocab_size=258)

    def count() -> dict[str, np.ndarray]:
        made.append("arrays")
        return {"n": np.arange(3)}

    def value() -> dict[str, list[int]]:
        made.append("values")
        return {"x": [1, 2]}

    for _ in range(2):
        again = Work.of(tmp_path / "work", tmp_path, described())
        assert again.folder == work.folder
        assert again.tokenizer("a", train).fingerprint == train().fingerprint
        assert again.arrays("b", count)["n"].tolist() == [0, 1, 2]
        assert again.values("c", value) == {"x": [1, 2]}
    assert made.count("tokenizer") == 3  # two of them by the comparison
    assert made.count("arrays") == made.count("values") == 1
    (tmp_path / "corpora" / "a.jsonl.zst").write_bytes(b"two")
    assert Work.of(tmp_path / "work", tmp_path, described()).folder != work.folder
    assert Work.of(tmp_path / "work", tmp_path, "other").folder != work.folder


def test_without_corpora_it_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--shared", str(tmp_path), "--work", str(tmp_path / "work")]
    assert command.main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: no corpora at ")
    assert "hint: " in said.err


@pytest.mark.conformance
def test_the_figures_of_a_domain_are_measured_again(shared: Path, tmp_path: Path) -> None:
    """The smallest domain, from the corpora: the others take as many minutes as there are."""
    found = measure(Data(shared), tmp_path, domains=("finance",))
    old = FIGURES.below("domains")
    assert not differences({key: old[key] for key in found}, found)
