"""The table at the head of BENCHMARKS.md: ratios, who counts as a peer, what is met. No timing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benches import record, remarks, summary
from benches.harness import Row, rank
from benches.run import PARTS
from benches.targets import BY_KEY, TARGETS

MB = 1_000_000


def case(
    *rows: tuple[str, float] | tuple[str, float, str],
    targets: Sequence[str],
    text: str = "english",
    figure: str = "MB/s",
    **further: Any,
) -> dict[str, Any]:
    made = [Row(row[0], (row[1],) * 3, row[2] if len(row) == 3 else None, None, MB) for row in rows]
    found = record.case(
        "an operation", "v", text, rank(made), targets=targets, n_texts=100, figure=figure
    )
    return {**found, **further}


def line_of(key: str, cases: Sequence[dict[str, Any]]) -> list[str]:
    """The cells of a bar's line in the table at the head."""
    rows = summary.table(cases).splitlines()[2:]
    index = [target.key for target in TARGETS].index(key)
    return [cell.strip() for cell in rows[index].strip("|").split(" | ")]


def test_every_bar_is_measured_by_a_part_and_recorded_under_a_heading() -> None:
    assert len(BY_KEY) == len(TARGETS)
    assert {target.part for target in TARGETS} <= set(PARTS)
    assert set(PARTS) == set(record.KINDS)
    assert list(PARTS) == list(record.KINDS), "the page has the order in which parts are run"
    assert all(target.stretch is None or target.stretch > target.least for target in TARGETS)


def test_the_best_peer_is_the_fastest_whose_ids_are_right() -> None:
    found = case(
        ("jeton", 1.0),
        ("slow", 3.0),
        ("right", 1.5),
        ("cheat", 0.1, "all differ"),
        targets=["warm"],
    )
    verdict = summary.judge(found, BY_KEY["warm"])
    assert verdict.peer is not None
    assert verdict.peer["name"] == "right"
    assert verdict.ratio == 1.5
    assert verdict.met is True
    slower = case(("jeton", 1.0), ("right", 1.19), targets=["warm"])
    assert summary.judge(slower, BY_KEY["warm"]).met is False


def test_some_bars_name_their_peers_or_look_at_the_inexact_alone() -> None:
    found = case(
        ("jeton", 1.0),
        ("fastokens", 1.3),
        ("gigatoken", 1.4),
        ("other", 1.1),
        ("inexact", 1.9, "7 of 9 documents differ"),
        targets=["lists-fastokens"],
    )
    assert summary.judge(found, BY_KEY["lists-fastokens"]).ratio == 1.3
    assert summary.judge(found, BY_KEY["lists-gigatoken"]).ratio == 1.4
    assert summary.judge(found, BY_KEY["lists"]).ratio == 1.1
    inexact = summary.judge(found, BY_KEY["unigram-inexact"])
    assert (inexact.ratio, inexact.met) == (1.9, False)
    assert summary.judge(found, BY_KEY["unigram-warm"]).met is None, "sentencepiece is not there"


def test_wrong_ids_of_ours_are_never_met() -> None:
    found = case(("jeton", 0.1, "1 of 2 documents differ"), ("right", 1.0), targets=["warm"])
    verdict = summary.judge(found, BY_KEY["warm"])
    assert (verdict.ratio, verdict.met) == (None, False)
    cells = line_of("warm", [found])
    assert "not met" in cells[6]
    assert "wrong or missing" in cells[7]


@pytest.mark.parametrize(
    ("ours", "theirs", "met"),
    [(0.020, 0.010, True), (0.021, 0.010, False), (0.009, 0.001, True), (0.011, 0.001, False)],
)
def test_hostile_text_may_take_twice_the_best_or_ten_milliseconds(
    ours: float, theirs: float, met: bool
) -> None:
    found = case(("jeton", ours), ("peer", theirs), targets=["hostile"])
    assert summary.judge(found, BY_KEY["hostile"]).met is met


def test_growth_and_flatness_are_read_from_the_case() -> None:
    growth = case(("jeton", 1.0), targets=["hostile-growth"], growth=19.0)
    assert summary.judge(growth, BY_KEY["hostile-growth"]).met is True
    squared = case(("jeton", 1.0), targets=["hostile-growth"], growth=256.0)
    assert summary.judge(squared, BY_KEY["hostile-growth"]).met is False
    assert line_of("hostile-growth", [growth, squared])[3] == "19.00-256.00x"
    unknown = case(("jeton", 1.0), targets=["memory-flat"])
    assert summary.judge(unknown, BY_KEY["memory-flat"]).met is None


def test_a_line_says_the_least_ratio_and_how_many_are_met(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(remarks.REMARKS, "warm", raising=False)
    cases = [
        case(("jeton", 1.0), ("a", 1.3), targets=["warm"], text="english"),
        case(("jeton", 1.0), ("b", 0.5), targets=["warm"], text="code"),
        case(("jeton", 1.0), ("a", 2.0), targets=["warm"], text="logs"),
        case(("jeton", 1.0), ("a", 9.0), targets=["small-list"]),
    ]
    cells = line_of("warm", cases)
    assert cells[3:7] == ["0.50-2.00x", "b", "1 MB/s", "**met in 2 of 3**"]
    assert cells[7] == "least: an operation: v, code"
    assert line_of("small-list", cases)[6] == "met"
    assert line_of("first", cases)[6] == "not measured"
    rows = summary.case_table(cases).splitlines()[2:]
    assert len(rows) == 4
    assert "| 0.50x | b | 2 | 1 | MB/s | **no** |" in rows[1]


def test_what_was_tried_stands_where_a_bar_is_not_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(remarks.REMARKS, "warm", "larger tables | lost 3%")
    behind = [case(("jeton", 1.0), ("a", 0.9), targets=["warm"])]
    assert "tried: larger tables \\| lost 3%" in summary.table(behind)
    ahead = [case(("jeton", 1.0), ("a", 1.9), targets=["warm"])]
    assert "tried" not in summary.table(ahead)


def test_remarks_are_about_bars_that_exist() -> None:
    assert set(remarks.REMARKS) <= set(BY_KEY)


@pytest.mark.parametrize(
    ("figure", "shown"), [("MB/s", "2"), ("us", "5000.00"), ("ms", "500.0"), ("MB", "0.0")]
)
def test_figures_have_the_unit_of_the_case(figure: str, shown: str) -> None:
    found = case(("jeton", 0.5), targets=[], figure=figure)
    assert summary.figure(found, found["rows"][0]) == shown
    assert summary.figure(found, None) == ""


def test_paths_stand_side_by_side() -> None:
    found = case(
        ("jeton, avx2", 0.5), ("jeton, portable", 1.0), ("peer", 0.8), targets=[], figure="MB/s"
    )
    (line,) = summary.path_table([found]).splitlines()[2:]
    assert line == "| v | english | 1 | 2 |  | peer | 1.25 | 1.60x |"


def result(kind: str, date: str, seconds: float, cpu: str = "c") -> dict[str, Any]:
    """A record of one case."""
    return {
        "date": date,
        "kind": kind,
        "command": f"python -m benches.run --only {kind}",
        "machine": {"cpu": cpu, "cores": 2, "memory_gib": 4.0, "system": "s", "python": "p"},
        "versions": {"jeton": "0.1.0", "peer": kind},
        "caveats": [f"a caveat of {kind}"],
        "cases": [case(("jeton", seconds), ("peer", 2.0), targets=[kind])],
    }


def test_each_processor_has_its_newest_record_and_lines_of_its_own(tmp_path: Path) -> None:
    record.write(result("warm", "2026-11-20", 2.0, "Maker(R) One"), folder=tmp_path)
    record.write(result("warm", "2026-11-21", 1.0, "Maker(R) One"), folder=tmp_path)
    record.write(result("warm", "2026-11-20", 4.0, "Maker(R) Two"), folder=tmp_path)
    one, two = record.newest_of_each("warm", folder=tmp_path)
    assert [one["date"], two["date"]] == ["2026-11-21", "2026-11-20"]
    assert record.newest("warm", cpu="Maker(R) Two", folder=tmp_path) == two
    assert record.newest("warm", cpu="Maker(R) Three", folder=tmp_path) is None
    text = record.render(folder=tmp_path) + record.show(["warm"], folder=tmp_path)
    lines = [line for line in text.splitlines() if "| Maker One |" in line]
    assert len(lines) == 2, "a bar and a case"
    assert all("| 2.00x |" in line for line in lines)
    lines = [line for line in text.splitlines() if "| Maker Two |" in line]
    assert len(lines) == 2
    assert all("| 0.50x |" in line and "no" in line for line in lines)
    assert "on Maker Two, too: benches/results/maker-two/2026-11-20-warm.json" in text


def test_the_page_has_the_bars_and_a_command_the_parts(tmp_path: Path) -> None:
    record.write(result("warm", "2026-11-20", 4.0), folder=tmp_path)
    record.write(result("warm", "2026-11-21", 1.0), folder=tmp_path)
    # A part that is done again replaces its own record and no other.
    record.write(result("document", "2026-11-21", 4.0), folder=tmp_path)
    record.write(result("document", "2026-11-21", 1.0), folder=tmp_path)
    page = record.render(folder=tmp_path)
    assert page.index("Read this first") < page.index("| case | target |")
    assert "## Warm encoding" not in page
    parts = record.show(["all"], folder=tmp_path)
    assert parts.index("## Warm encoding") < parts.index("## One document")
    text = page + parts
    assert "a caveat of warm" in text
    assert "Measured 2026-11-21" in text
    assert text.count("**an operation**") == 2
    assert text.count("| 2.00x |") == 6, "two lines, two cases, two rows: none of older records"
    assert text.count("not measured") == len(TARGETS) - 2
