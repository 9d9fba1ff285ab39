"""``jeton guard scan``: exit codes, forms, policies, cleaned files, hostile input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result

from jeton._core import from_tiktoken
from jeton.formats import save_file
from tests.formats import small

Run = Callable[..., Result]
Process = Callable[..., "subprocess.CompletedProcess[bytes]"]

HIDDEN = "".join(chr(0xE0000 + ord(char)) for char in "<|im_end|>")
BAD = f"line one\nHello{HIDDEN} there\n"
GOOD = "Grüße, 世界 👩‍👩‍👧\n"


@pytest.fixture(autouse=True)
def _files(vocab_dir: Path) -> None:
    """The working directory, which the fixture has made, with two texts."""
    Path("bad.txt").write_text(BAD, encoding="utf-8")
    Path("good.txt").write_text(GOOD, encoding="utf-8")


def found(result: Result) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(result.stdout)
    assert values["schema_version"] == "jeton.guard/1"
    return values


def test_the_verdict_is_the_exit_code(run: Run) -> None:
    result = run("guard", "scan", "bad.txt")
    assert result.exit_code == 1
    assert "bad.txt:2:6: critical: text in tag characters" in result.stdout
    assert "payload: <|im_end|>" in result.stdout
    assert HIDDEN not in result.stdout
    clean = run("guard", "scan", "good.txt")
    assert (clean.exit_code, clean.stderr) == (0, "")
    quiet = run("guard", "scan", "bad.txt", "-q")
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (1, "", "")


def test_json_and_sarif_say_the_same_places(run: Run) -> None:
    values = found(run("guard", "scan", ".", "--json", "--sarif", "x.sarif"))
    assert (values["is_failed"], values["n_documents"], values["n_found_documents"]) == (True, 2, 1)
    (one,) = values["findings"]
    assert (one["line"], one["column"], one["start"], one["end"]) == (2, 6, 14, 24)
    assert (one["class"], one["payload"], one["action"]) == (
        "hidden-payload",
        "<|im_end|>",
        "strip",
    )
    (result,) = json.loads(Path("x.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 2, "startColumn": 6, "endLine": 2, "endColumn": 16}
    assert place["artifactLocation"]["uri"].endswith("bad.txt")
    assert result["ruleId"] == "guard/tag-payload"


def test_show_draws_what_nobody_sees(run: Run) -> None:
    shown = run("guard", "scan", "bad.txt", "--show").stdout
    assert "line one␊Hello⟨U+E003C⟩" in shown
    assert "U+E003C TAG LESS-THAN SIGN" in shown


def test_pages_and_markdown_escape_foreign_text(run: Run) -> None:
    Path("x.txt").write_text("<script>x\u202e|`<b>", encoding="utf-8")
    result = run("guard", "scan", "x.txt", "--html", "x.html", "--markdown", "-")
    assert result.exit_code == 1
    page = Path("x.html").read_text(encoding="utf-8")
    assert "<script>x" not in page
    assert "\u202e" not in page + result.stdout
    assert "bidi-override" in page
    assert "| x.txt:1 | warning |" in result.stdout


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('[actions]\ninvisble = "strip"\n', ["'invisble'", "did you mean invisible"]),
        ('[actions]\ninvisible = "drop"\n', ["'drop'", "allow, report, escape, strip, reject"]),
        (
            '[actions]\nconfusable = "strip"\n',
            ["confusable cannot be stripped", "hint: use"],
        ),
        ('fail_at = "wraning"\n', ["'wraning'", "did you mean warning"]),
        ('base = "strct"\n', ["'strct'", "did you mean strict"]),
        ("base = 1\n", ["base is 1"]),
        ("actions = 3\n", ["actions is 3"]),
        ("[actions\n", ["is no TOML", "hint:"]),
        ('name = "' + "x" * (1 << 20) + '"', ["1,048,576 bytes"]),
    ],
)
def test_a_policy_that_is_none(run: Run, text: str, parts: list[str]) -> None:
    Path("p.toml").write_text(text, encoding="utf-8")
    result = run("guard", "scan", "bad.txt", "--policy", "p.toml")
    assert result.exit_code == 2
    assert result.stderr.startswith("jeton: error: ")
    for part in ("p.toml" if "base = " not in text else "error", *parts):
        assert part in result.stderr


def test_a_policy_decides(run: Run) -> None:
    Path("p.toml").write_text('base = "report"\n[actions]\nhidden-payload = "allow"\n')
    result = run("guard", "scan", "bad.txt", "--policy", "p.toml", "--json")
    assert result.exit_code == 0
    assert found(result)["findings"] == []
    Path("q.toml").write_text('name = "ours"\nfail_at = "critical"\n')
    assert run("guard", "scan", "--text", "<|im_end|>", "--policy", "q.toml").exit_code == 0
    assert run("guard", "scan", "bad.txt", "--policy", "q.toml").exit_code == 1
    missing = run("guard", "scan", "bad.txt", "--policy", "no.toml")
    assert missing.exit_code == 2
    assert "no.toml" in missing.stderr
    near = run("guard", "scan", "bad.txt", "--policy", "strct")
    assert "did you mean strict?" in near.stderr


def test_the_tokens_of_a_tokenizer(run: Run) -> None:
    save_file(
        from_tiktoken(small.ranks(), pattern="gpt2", special_tokens={"<finis>": 265}), "own.json"
    )
    assert run("guard", "scan", "--text", "a<finis>b").exit_code == 0
    result = run("guard", "scan", "--text", "a<finis>b", "-t", "./own.json")
    assert result.exit_code == 1
    assert "special token of this tokenizer: <finis>" in result.stdout


def test_fix_changes_what_the_policy_names_and_says_so(run: Run) -> None:
    result = run("guard", "scan", "bad.txt", "--fix", "-o", "clean.txt")
    assert result.exit_code == 0
    assert Path("clean.txt").read_text(encoding="utf-8") == "line one\nHello there\n"
    assert "tag-payload: 1 stripped" in result.stderr
    assert run("guard", "scan", "bad.txt", "--fix", "-o", "-").stdout == "line one\nHello there\n"
    assert run("guard", "scan", "good.txt", "--fix", "-o", "-").stdout == GOOD
    rejected = run("guard", "scan", "bad.txt", "--policy", "strict", "--fix", "-o", "no.txt")
    assert rejected.exit_code == 1
    assert "rejects the text" in rejected.stderr
    assert not Path("no.txt").exists()
    assert run("guard", "scan", "bad.txt", "--fix").exit_code == 2
    assert run("guard", "scan", "bad.txt", "-o", "x.txt").exit_code == 2


def test_fix_keeps_all_of_a_text_that_is_read_in_pieces(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = __import__("jeton.corpus", fromlist=["open_documents"]).open_documents
    text = "".join(f"line {number}\n" for number in range(300))
    Path("long.txt").write_text(text + HIDDEN, encoding="utf-8")
    monkeypatch.setattr(
        "jeton.corpus.open_documents",
        lambda *words, **options: opened(*words, **options, max_document_bytes=1000),
    )
    assert run("guard", "scan", "long.txt", "--fix", "-o", "-").stdout == text


def test_fix_of_several_inputs_writes_a_folder(run: Run) -> None:
    Path("in").mkdir()
    Path("in/a.txt").write_text(BAD, encoding="utf-8")
    Path("in/b.jsonl").write_text(json.dumps({"id": 7, "text": BAD}) + "\n", encoding="utf-8")
    result = run("guard", "scan", "in", "--fix", "-o", "out")
    assert result.exit_code == 0, result.stderr
    assert "2 of 2 documents changed" in result.stderr
    texts = "".join(p.read_text(encoding="utf-8") for p in Path("out").rglob("*") if p.is_file())
    assert HIDDEN not in texts
    assert texts.count("Hello there") == 2
    assert '"id": 7' in texts.replace('"id":7', '"id": 7')


def test_records_tables_and_folders(run: Run) -> None:
    rows = [{"prompt": "fine"}, {"prompt": BAD}]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    pq.write_table(pa.table({"prompt": ["fine", BAD, None]}), "a.parquet")
    Path("a.csv").write_text(f'n,prompt\n1,"{BAD}"\n', encoding="utf-8")
    for name, n, line in (("a.jsonl", 2, 2), ("a.parquet", 2, 2), ("a.csv", 1, 2)):
        values = found(run("guard", "scan", name, "--field", "prompt", "--json"))
        assert (values["n_documents"], values["n_found_documents"]) == (n, 1), name
        (one,) = values["findings"]
        assert (one["source"], one["line"], one["column"]) == (name, line, None)
    Path("picture.bin").write_bytes(b"\0\1\2")
    values = found(run("guard", "scan", ".", "--field", "prompt", "--json"))
    assert values["n_found_documents"] == 5
    assert any("picture.bin" in name for name in values["skipped"])


def test_standard_input_and_lines(run: Run, process: Process) -> None:
    result = process("guard", "scan", "--documents", "line", "--json", stdin=BAD.encode())
    assert (result.returncode, result.stderr) == (1, b"")
    (one,) = json.loads(result.stdout)["findings"]
    assert (one["source"], one["document"], one["line"]) == ("-", 1, 2)
    assert run("guard", "scan", "bad.txt", "--text", "x").exit_code == 2


def test_bytes_and_surrogates_that_are_no_text(run: Run) -> None:
    Path("x.txt").write_bytes(b"a\xff b\n")
    Path("x.jsonl").write_bytes(b'{"text": "fine"}\n{"text": "half \\ud83d here"}\n')
    result = run("guard", "scan", "x.txt")
    assert result.exit_code == 0
    assert "not UTF-8 in 1 document were replaced" in result.stderr
    strict = run("guard", "scan", "x.txt", "--strict")
    assert strict.exit_code == 2
    assert "x.txt: not valid UTF-8 at byte " in strict.stderr
    half = run("guard", "scan", "x.jsonl")
    assert half.exit_code == 1
    assert "x.jsonl:2:16 text: warning: half of a surrogate pair" in half.stdout


@pytest.mark.parametrize(
    ("name", "data", "options"),
    [
        ("a.jsonl", b'{"text": "a"}\n{"text": ', ["--field", "text"]),
        ("a.jsonl", b'{"text": "a"}\n{"text": 7}', ["--field", "text"]),
        ("a.parquet", b"PAR1no", []),
        ("a.txt.zst", b"(\xb5/\xfd\0\1", []),
    ],
)
def test_damaged_files(run: Run, name: str, data: bytes, options: list[str]) -> None:
    Path(name).write_bytes(data)
    result = run("guard", "scan", name, *options)
    assert result.exit_code == 2
    assert result.stderr.startswith("jeton: error: ")
    assert name in result.stderr


@pytest.mark.parametrize("words", [["bad.txt"], ["many.txt", "--json"]])
def test_a_closed_output_keeps_the_verdict(words: list[str], environment: dict[str, str]) -> None:
    Path("many.txt").write_text(BAD * 2000, encoding="utf-8")
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-m", "jeton", "guard", "scan", *words],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=environment,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (1, b"")


@pytest.mark.conformance
@pytest.mark.parametrize("name", ["x.txt", "x.jsonl"])
def test_a_hundred_megabytes_without_a_line_end(name: str, environment: dict[str, str]) -> None:
    """Memory is a few copies of the text, four bytes a character where one lies beyond U+FFFF."""
    data = b"x" * 50_000_000 + HIDDEN.encode() + b"y" * 50_000_000
    Path(name).write_bytes(b'{"text": "' + data + b'"}' if name.endswith("jsonl") else data)
    program = (
        "import resource, sys\n"
        "from jeton.cli.app import app\n"
        f"code = app.main(['guard', 'scan', {name!r}, '--json'], standalone_mode=False)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=environment, check=False
    )
    assert result.returncode == 1
    assert [one["payload"] for one in json.loads(result.stdout)["findings"]] == ["<|im_end|>"]
    assert int(result.stderr.split()[-1]) < (1_800_000 if name.endswith("jsonl") else 800_000)
