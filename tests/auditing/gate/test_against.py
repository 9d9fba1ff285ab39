"""``jeton audit BEFORE --against AFTER``, and what is said where both are mixed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from jeton.cli.app import app
from tests.cases.gate_breaks import BREAKS, corpus

TOKENIZER = "jeton-general-32k"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state before and one after in two folders."""
    monkeypatch.chdir(tmp_path)
    texts = corpus(8)
    write("before/requests.jsonl", texts)
    write("after/requests.jsonl", [BREAKS["json.dumps"](text) for text in texts])
    return tmp_path


def write(name: str, texts: list[str]) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    # The first line is blank: records are named by their lines.
    lines = ["", *(json.dumps({"text": text}) for text in texts)]
    Path(name).write_text("\n".join(lines), encoding="utf-8")


def audit(*words: str) -> Result:
    return CliRunner().invoke(app, ["audit", *words, "-t", TOKENIZER, "--no-quality"])


def read_json(name: str) -> Any:
    return json.loads(Path(name).read_text(encoding="utf-8"))


def test_two_corpora_side_by_side(work: Path) -> None:
    result = audit(
        "before/", "--against", "after/", "--html", "a.html", "--json", "a.json", "--markdown",
        "a.md", "--price-model", "usd:2/8", "--requests-per-day", "1000",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Before  before/\nAfter   after/\n")
    assert "main cause: escaped characters" in result.stdout
    assert "paired: all 8 documents" in result.stdout
    data = read_json("a.json")
    assert data["schema_version"] == "jeton.against/1"
    before, after = (data[side]["tokenizers"][0] for side in ("before", "after"))
    compared = {item["metric"]: item for item in data["comparison"]["results"]}
    for side, report in (("before", before), ("after", after)):
        assert compared["tokens_per_document"][side] == report["tokens_per_document"]["mean"]
        assert compared["n_tokens"][side] == report["n_tokens"]
        assert compared["usd_per_month"][side] > 0
    mean = compared["tokens_per_document"]
    assert mean["main_cause"] == "escaped_characters"
    assert mean["change_interval_kind"] == "paired"
    assert mean["n_matched_documents"] == 8
    page = Path("a.html").read_text(encoding="utf-8")
    assert "Before and after" in page
    assert "escaped characters" in page
    assert "**escaped characters**" in Path("a.md").read_text(encoding="utf-8")


def test_names_go_before_the_order_of_the_words(work: Path) -> None:
    result = audit("after/", "--against", "before/", "--json", "-")
    sides = json.loads(result.stdout)["comparison"]["sides"]
    assert sides == {"before": "before/", "after": "after/"}


def test_a_budget_may_be_set_on_two_corpora(work: Path) -> None:
    budget = ("--fail-on", "tokens_per_document>+5%")
    failed = audit("before/", "--against", "after/", *budget, "--sarif", "s.sarif", "-q")
    assert failed.exit_code == 1
    assert "main cause: escaped characters" in failed.stderr
    entry = read_json("s.sarif")["runs"][0]["results"][0]
    place = entry["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "after/requests.jsonl"
    number = int(entry["locations"][0]["message"]["text"].split("#")[1].split()[0])
    # One blank line stands in front of the records.
    assert place["region"]["startLine"] == number + 1
    write("after/requests.jsonl", corpus(8)[::-1])
    assert audit("before/", "--against", "after/", *budget, "-q").exit_code == 0


def test_mixed_states_are_said(work: Path) -> None:
    mixed = audit("before/", "after/")
    assert mixed.exit_code == 0
    assert "mixed into one workload" in mixed.stderr
    assert "jeton audit before/ --against after/" in mixed.stderr
    assert "mixed" not in audit("before/").stderr


def test_bad_command_lines(work: Path) -> None:
    for words, message in (
        (("before/", "--against", "afterr/"), "after"),
        (("before/", "--against", "after/", "--baseline", "b"), "expected one of them"),
        (("before/", "--fail-on", "n_tokens>+1%"), "--against PATH"),
        (("before/", "--fail-on", "fit<100"), "known here: "),
    ):
        result = audit(*words)
        assert result.exit_code == 2
        assert message in result.stderr


def test_rules_of_sarif_are_sentences(work: Path) -> None:
    audit("after/", "--sarif", "s.sarif", "-q")
    rules = read_json("s.sarif")["runs"][0]["tool"]["driver"]["rules"]
    found = next(rule for rule in rules if rule["id"] == "audit/escaped-characters")
    assert found["shortDescription"]["text"] == "Escaped characters"
    assert found["fullDescription"]["text"].startswith("Escaped characters: ")
    assert "budget" not in found["help"]["text"]
    assert "json.dumps" in found["help"]["text"]


def test_a_finding_stands_at_the_record_that_has_most_of_it(work: Path) -> None:
    texts = ["A plain line.", "", "Zwei \u00c4pfel und f\u00fcnf \u00d6len."] * 4
    escaped = [*texts, json.dumps("\u00e4\u00f6\u00fc " * 200), "The end."]
    Path("lines.txt").write_text("\n".join(escaped) + "\n", encoding="utf-8")
    audit("lines.txt", "--documents", "line", "--save-baseline", "lines.base", "-q")
    audit(
        "lines.txt", "--documents", "line", "--baseline", "lines.base", "--sarif", "s.sarif", "-q"
    )
    results = read_json("s.sarif")["runs"][0]["results"]
    found = next(r for r in results if r["ruleId"] == "audit/escaped-characters")
    assert found["locations"][0]["physicalLocation"]["region"] == {"startLine": 13}
