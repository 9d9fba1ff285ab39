"""Every family equals its reference on some edge texts; `make differential` runs many more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import SHARED
from tests.differential.families import families
from tests.differential.harness import Family, run

pytestmark = pytest.mark.rivals

SEED = 1
MADE_CASES = 600
PUBLISHED_CASES = 300
CONFORMANCE_CASES = 20_000
IN_EVERY_RUN = frozenset(
    {
        *("tiktoken/cl100k_base", "hf/gpt2", "hf/modernbert", "hf/bert_base_uncased", "hf/llama2"),
        *("hf/mistral01", "hf/t5-small", "hf/clip_base", "spm/llama2", "spm/xlnet_base_cased"),
        *("spm/albert_30k-clean", "spm/nmt_joint.spm", "bert/bert_base_cased", "rwkv/world"),
        *("tekken/240718", "files/gpt2"),
    }
)
"""One published vocabulary of each kind; `make conformance` takes them all."""

FAMILIES = {family.name: family for family in families(SHARED if SHARED.is_dir() else None)}
MADE = [name for name in FAMILIES if name.partition("/")[0] in ("made", "crossing", "grammar")]
PUBLISHED = [name for name in FAMILIES if name not in MADE]


def check(family: Family, cases: int) -> None:
    outcome = run(family, cases=cases, seed=SEED)
    assert not outcome.not_loadable, outcome.not_loadable
    assert outcome.cases or outcome.refused
    shown = [
        f"{found.check} (batch {found.batch}): {found.text!a}: {found.ours!a}, "
        f"expected {found.theirs!a}"[:600]
        for found in outcome.differences
    ]
    assert not outcome.different, "\n".join([f"{outcome.different} of {outcome.cases}", *shown])


@pytest.mark.parametrize("name", MADE)
def test_made_in_the_run(name: str) -> None:
    # A file of its own for every few texts costs more than the texts.
    check(FAMILIES[name], MADE_CASES // 2 if name.startswith("grammar/") else MADE_CASES)


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("name", [name for name in PUBLISHED if name in IN_EVERY_RUN])
def test_published(name: str) -> None:
    check(FAMILIES[name], PUBLISHED_CASES)


@pytest.mark.conformance
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_on_many_more_texts(name: str) -> None:
    check(FAMILIES[name], CONFORMANCE_CASES)


def test_the_lists_name_families_that_exist(tmp_path: Path) -> None:
    assert not IN_EVERY_RUN - set(PUBLISHED)
    names = [family.name for family in families(tmp_path)]
    assert len(set(names)) == len(names)
