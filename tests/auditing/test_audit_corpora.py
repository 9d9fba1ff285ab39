"""The script that writes the table of audited corpora."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts import audit_corpora as script

TOKENIZER = "jeton-general-32k"


def _corpora(folder: Path) -> Path:
    folder.mkdir()
    lines = [
        json.dumps({"text": f"the   value   of   {i}   is   {i * i}   " * 4}) for i in range(40)
    ]
    (folder / "spaced.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "broken.jsonl").write_text('{"text": ', encoding="utf-8")
    return folder


def test_every_corpus_has_its_row_and_a_failure_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        f"before\n{script.PART.begin}\nold\n{script.PART.end}\nafter\n", encoding="utf-8"
    )
    folder = _corpora(tmp_path / "corpora")
    arguments = [str(folder), "--tokenizer", TOKENIZER, "--write", str(page)]
    assert script.main(arguments) == 1, "one of the corpora cannot be read"
    assert "\nold\n" in page.read_text(encoding="utf-8"), "what was measured stays"
    text, said = capsys.readouterr()
    assert "spaced.jsonl: " in said
    rows = {
        cells[0]: cells
        for cells in (
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in text.splitlines()
            if line.startswith("|")
        )
    }
    assert rows["corpus"][4] == f"bytes per token, {TOKENIZER}"
    own = script.audit_once(str(folder / "spaced.jsonl"), [TOKENIZER])
    spaced = rows["spaced"]
    assert spaced[1] == "40"
    assert spaced[3] == f"{own['n_tokens']:,}"
    assert spaced[4] == f"{own['bytes_per_token'][0]:.2f}"
    assert "`whitespace-runs`" in spaced[-1]
    assert set(own["findings"]) == {id_.split("`")[1] for id_ in spaced[-1].split(", ")}
    assert float(spaced[5]) > 0
    assert "failed: " in rows["broken"][-1]
    (folder / "broken.jsonl").unlink()
    assert script.main(arguments) == 0
    written = page.read_text(encoding="utf-8")
    assert written.startswith("before\n")
    assert written.endswith("\nafter\n")
    assert "old" not in written
    assert "| spaced |" in written


def test_several_findings_of_a_check_are_one_entry() -> None:
    row = {
        "n_documents": 1200,
        "n_bytes": 3_456_789,
        "n_tokens": 1_000_000,
        "bytes_per_token": [3.456, 4.0],
        "findings": ["tokenizer-foreign", "line-ends", "tokenizer-foreign"],
        "seconds": 1.26,
        "peak_bytes": None,
    }
    assert script.table({"english": row}, ["a", "b"])[-1] == (
        "| english | 1,200 | 3.5 | 1,000,000 | 3.46 | 4.00 | 1.3 | - | "
        "`tokenizer-foreign` x 2, `line-ends` |"
    )


def test_a_folder_or_a_page_that_cannot_be_meant_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main([str(tmp_path)]) == 2
    assert "has no *.jsonl" in capsys.readouterr().err
    page = tmp_path / "page.md"
    page.write_text("a page without a place", encoding="utf-8")
    folder = _corpora(tmp_path / "corpora")
    assert script.main([str(folder), "--write", str(page)]) == 2
    assert "page.md: expected one '<!-- audits of the corpora: begin" in capsys.readouterr().err
