"""Session files of coding agents into money: one file a case, with the amount by hand.

A case in ``agents/`` has the files of an agent (``records``, or ``text`` as it stands), the sum,
the arithmetic behind it at the list's rates, and the place that publishes the format. Its sum is
the same in whatever order the files are read.
"""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.corpus.requests.agents import SHAPES_OF_AGENTS
from jeton.errors import RecordError

CASES = sorted((Path(__file__).parent / "agents").glob("*.json"))


def write(case: dict[str, Any], folder: Path) -> list[Path]:
    paths = []
    for file in case["files"]:
        place = folder / file["name"]
        place.parent.mkdir(parents=True, exist_ok=True)
        if "text" in file:
            place.write_text(file["text"], encoding="utf-8")
        elif place.suffix == ".json":
            # As agents write them: some with line breaks, most without.
            indent = 1 if file.get("is_indented") else None
            place.write_text(json.dumps(file["records"], indent=indent), encoding="utf-8")
        else:
            place.write_text("".join(json.dumps(r) + "\n" for r in file["records"]), "utf-8")
        paths.append(place)
    return paths


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path, tmp_path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    assert case["arithmetic"], "a case shows its arithmetic"
    assert case["source"], "a case names the place that publishes the format"
    paths = write(case, tmp_path)
    if "refused" in case:
        with pytest.raises(RecordError, match=case["refused"]):
            jeton.ledger(paths)
        return
    orders = [paths, paths[::-1]] if len(paths) > 1 and case.get("any_order", True) else [paths]
    for order in orders:
        ledger = jeton.ledger(order, on=date(2026, 11, 3))
        assert ledger.usd == Decimal(case["usd"]), case["arithmetic"]
        assert ledger.n_requests == case["n_requests"]
        assert [entry.kind for entry in ledger.not_priced] == case.get("not_priced", [])
        found = {issue.kind: issue.text for issue in ledger.issues}
        for kind in case.get("issues", []):
            assert kind in found
        for words in case.get("words", []):
            assert any(words in text for text in found.values()), found
        bases = {use.logged_as: str(use.basis) for use in ledger.by_model}
        assert bases == case["basis"]
        stated = [
            [c.logged_as, c.payer, str(c.stated_usd), None if c.usd is None else str(c.usd)]
            for c in ledger.stated
        ]
        assert stated == case.get("stated", stated)
        differs = sorted(c.logged_as for c in ledger.stated if c.differs)
        assert differs == case.get("differs", [])


def test_every_agent_has_three_cases() -> None:
    n = {shape: sum(path.stem.startswith(shape) for path in CASES) for shape in SHAPES_OF_AGENTS}
    assert all(count >= 3 for count in n.values()), n
