"""How many inputs there were, where a report does not list them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from jeton import audit
from jeton.report.workload import title_of
from jeton.workload.counting.sources import MAX_SOURCES, SourceList


@pytest.mark.parametrize("n", [1, MAX_SOURCES - 1, MAX_SOURCES, MAX_SOURCES + 1, 2 * MAX_SOURCES])
def test_sources_beyond_the_list_count(n: int) -> None:
    sources = SourceList()
    for number in range(n):
        sources.add(f"{number}.txt", 1, 10)
        sources.add(f"{number}.txt", 2, 10)
    assert len(sources) == n
    assert sum(source.n_documents for source in sources.sources()) == 3 * n
    assert len(sources.sources()) == min(n, MAX_SOURCES + 1)
    assert len(sources.merge(SourceList())) == n


def test_a_report_names_how_many_files_it_has(tmp_path: Path) -> None:
    for number in range(MAX_SOURCES + 7):
        (tmp_path / f"{number}.txt").write_text(f"text {number}", encoding="utf-8")
    report = audit([tmp_path], tokenizers=["jeton-general-32k"], quality=False)
    assert report.corpus.n_sources == MAX_SOURCES + 7
    assert title_of(report.to_dict()) == f"{tmp_path.name}, {MAX_SOURCES + 7:,} files"
