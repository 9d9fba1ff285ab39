"""``jeton audit`` with a gate, and what it writes: exit codes, JUnit, SARIF, JSON, Markdown."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from jeton._core import Tokenizer
from jeton.auditing.gate import Baseline
from jeton.cli.app import app
from jeton.formats import save_file
from jeton.report.sarif import SARIF_SCHEMA
from tests.auditing.gate.changed_texts import FRENCH, decomposed, doubled_white_space
from tests.auditing.tiny import documentation, train_tiny

# It has no types.
jsonschema: Any = import_module("jsonschema")

ROOT = Path(__file__).resolve().parents[3]
SARIF = json.loads(Path(__file__).with_name("sarif_2_1.json").read_text(encoding="utf-8"))

TEXTS = (*documentation()[:3], FRENCH[0] * 40)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: Tokenizer) -> Path:
    """A working directory with a tokenizer's file, a corpus, and a baseline of it."""
    monkeypatch.chdir(tmp_path)
    save_file(good, tmp_path / "tok.json")
    write(TEXTS)
    assert audit("--save-baseline", "b").exit_code == 0
    return tmp_path


def write(texts: tuple[str, ...] | list[str], name: str = "corpus.jsonl") -> None:
    lines = [json.dumps({"text": text}) for text in texts]
    Path(name).write_text("\n".join(lines), encoding="utf-8")


def audit(*words: str, corpus: str = "corpus.jsonl") -> Result:
    return CliRunner().invoke(app, ["audit", corpus, "-t", "tok.json", "-q", *words])


OUTPUTS = (
    "--junit",
    "j.xml",
    "--sarif",
    "s.sarif",
    "--gate-json",
    "g.json",
    "--gate-markdown",
    "m.md",
)


def read_json(name: str) -> Any:
    return json.loads(Path(name).read_text(encoding="utf-8"))


def test_a_gate_that_passes(work: Path) -> None:
    result = audit("--baseline", "b", "--fail-on", "tokens_per_document>+2%", *OUTPUTS)
    assert (result.exit_code, result.output) == (0, "")
    assert read_json("g.json")["is_passed"]
    suite = ElementTree.parse("j.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")
    assert not [r for r in read_json("s.sarif")["runs"][0]["results"] if "budget" in r["ruleId"]]
    assert Path("m.md").read_text(encoding="utf-8").startswith("## gate: passed, 1 budget kept")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("white space", "white space (100%)"),
        ("accents", "Unicode form (100%)"),
        ("tokenizer", "tokenizer (100%)"),
    ],
)
def test_a_gate_that_fails_names_the_cause(change: str, words: str, work: Path) -> None:
    if change == "tokenizer":
        save_file(train_tiny(vocab_size=300), work / "tok.json")
    else:
        write(
            [{"white space": doubled_white_space, "accents": decomposed}[change](t) for t in TEXTS]
        )
    result = audit("--baseline", "b", "--fail-on", "n_tokens>+0.1%", *OUTPUTS)
    assert result.exit_code == 1
    assert result.stderr.startswith("gate: failed, 1 of 1 budget exceeded")
    assert words in Path("m.md").read_text(encoding="utf-8")
    assert "corpus.jsonl#" in result.stderr
    suite = ElementTree.parse("j.xml").getroot()[0]
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert words.split(" (")[0] in (failure.text or "")
    verdict = read_json("g.json")
    assert verdict["results"][0]["causes"][0]["share"] == 1.0
    assert sum(c["value"] for c in verdict["results"][0]["causes"]) == pytest.approx(
        verdict["results"][0]["after"] - verdict["results"][0]["before"]
    )


def test_sarif_has_what_the_standard_requires(work: Path) -> None:
    write([doubled_white_space(text) for text in TEXTS], "nü ß#1.jsonl")
    result = audit(
        "--baseline",
        "b",
        "--fail-on",
        "n_tokens>+1%",
        "--fail-on",
        "bytes_per_token<-1%",
        *OUTPUTS,
        corpus="nü ß#1.jsonl",
    )
    assert result.exit_code == 1
    log = read_json("s.sarif")
    jsonschema.Draft7Validator(SARIF).validate(log)
    assert log["$schema"] == SARIF_SCHEMA
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for entry in run["results"]:
        assert rules[entry["ruleIndex"]]["id"] == entry["ruleId"]
    budgets = [r for r in run["results"] if r["ruleId"].startswith("budget/")]
    assert [r["ruleId"] for r in budgets] == ["budget/n_tokens", "budget/bytes_per_token"]
    assert any(r["ruleId"].startswith("audit/") for r in run["results"]), "findings are results too"
    used = {
        place["physicalLocation"]["artifactLocation"]["uri"]
        for entry in run["results"]
        for place in (*entry["locations"], *entry.get("relatedLocations", ()))
    }
    assert (
        used == {"n%C3%BC%20%C3%9F%231.jsonl"} == {a["location"]["uri"] for a in run["artifacts"]}
    )


def test_the_schema_of_the_test_notices_damage() -> None:
    empty: dict[str, Any] = {
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "x"}}, "results": []}],
    }
    jsonschema.Draft7Validator(SARIF).validate(empty)
    for broken in ({**empty, "version": "2.0"}, {**empty, "rules": []}, {"version": "2.1.0"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft7Validator(SARIF).validate(broken)


def test_a_baseline_is_compared_without_a_budget(work: Path) -> None:
    write([text.upper() for text in TEXTS])
    words = ["audit", "corpus.jsonl", "-t", "tok.json", "--baseline", "b", "--json", "r.json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0
    assert "no budget was given" in result.stderr
    assert "letter case" in result.stderr


def test_a_failed_gate_does_not_replace_its_own_baseline(work: Path) -> None:
    before = Path("b").read_bytes()
    write([doubled_white_space(text) for text in TEXTS])
    budget = ("--fail-on", "n_tokens>+1%")
    result = audit("--baseline", "b", "--save-baseline", "./b", *budget)
    assert result.exit_code == 1
    assert "left as it is" in result.stderr
    assert Path("b").read_bytes() == before
    assert audit("--baseline", "b", "--save-baseline", "new", *budget).exit_code == 1
    assert audit("--baseline", "new", *budget).exit_code == 0
    assert Baseline.read("new").tokenizer.canonical is not None, "the tokenizer came from a file"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fail-on", "tokens_per_document"], "is no budget"),
        (["--fail-on", "n_tokens>+1%"], "nothing to compare with"),
        (["--fail-on", "n_token>1"], "the nearest are n_tokens"),
        (["--fail-on", "@none"], "no such file"),
        (["--baseline", "none"], "there is no baseline"),
        (["--baseline", "tok.json"], "tok.json has the schema None"),
        (["--save-baseline", "-"], "wants a file"),
        (["--save-baseline", "no/where"], "does not exist"),
        (["--junit", "."], "is a folder"),
        (["--gate-json", "-", "--gate-markdown", "-"], "too many on standard output"),
        (["--gate-json", "-", "--json", "-"], "too many on standard output"),
    ],
)
def test_bad_command_lines(words: list[str], message: str, work: Path) -> None:
    result = audit(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not Path("g.json").exists()


def test_names_in_reports_cannot_break_them(work: Path) -> None:
    name = "a`|<b>\x1b[31m\n]]>.jsonl"
    write([doubled_white_space(text) for text in TEXTS], name)
    assert (
        audit("--baseline", "b", "--fail-on", "n_tokens>+1%", *OUTPUTS, corpus=name).exit_code == 1
    )
    text = Path("j.xml").read_text(encoding="utf-8") + Path("m.md").read_text(encoding="utf-8")
    assert "\x1b" not in text
    assert ElementTree.parse("j.xml").getroot()[0].get("failures") == "1"
    jsonschema.Draft7Validator(SARIF).validate(read_json("s.sarif"))
    rows = [line for line in Path("m.md").read_text("utf-8").splitlines() if line.startswith("| `")]
    assert rows
    assert not [row for row in rows if "\x1b" in row]
