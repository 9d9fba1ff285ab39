"""Locks: what they notice, what they say of it, what it costs; and the command around them."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import jeton
from jeton._core import Tokenizer
from jeton.cli.app import app
from jeton.errors import FormatError, UnknownPriceError, UsageError
from jeton.findings import Basis
from jeton.formats import save_file
from jeton.locking import Behaviour, Lock, compare_locks, make_lock, remake
from jeton.locking.workload import Traffic
from jeton.probe import probe_texts
from tests.auditing.tiny import documentation, train_tiny

CANARIES = ("hydroxychloroquine 200 mg", "for i in range(10):", "naïve café", "")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a tokenizer's file and a corpus."""
    monkeypatch.chdir(tmp_path)
    save_file(train_tiny(vocab_size=2000, special_tokens=("<|endoftext|>",)), tmp_path / "tok.json")
    rows = [json.dumps({"text": text}) for text in documentation()[:8]]
    (tmp_path / "corpus.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return tmp_path


def traffic() -> Traffic:
    return Traffic.find("usd:2/8", requests_per_day=1000)


def priced() -> Lock:
    return make_lock(
        ["corpus.jsonl"], tokenizers=["tok.json"], canaries=CANARIES, traffic=traffic()
    )


def exchange(tokenizer: Tokenizer) -> None:
    save_file(tokenizer, Path("tok.json"))


def edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    plain = json.loads(path.read_text(encoding="utf-8"))
    change(plain)
    path.write_text(json.dumps(plain), encoding="utf-8")


def test_behaviour_is_kept_whole_and_shows_the_cuts() -> None:
    tokenizer = jeton.load("jeton-general-32k")
    texts = [*CANARIES, *probe_texts()]
    seen = Behaviour.of(tokenizer, texts)
    assert Behaviour.from_plain(json.loads(json.dumps(seen.to_plain()))) == seen
    assert seen.n_tokens == sum(tokenizer.count(text) for text in texts)
    for text, one in zip(texts, seen.texts, strict=True):
        assert one.n_tokens == tokenizer.count(text)
        assert "".join(one.pieces(text)) == text
    assert seen.texts[0].pieces(CANARIES[0])[-1] == " mg"


def test_nothing_changed(work: Path) -> None:
    lock = priced()
    lock.write("jeton.lock")
    again = Lock.read("jeton.lock")
    assert again == lock
    assert again.to_json() == (work / "jeton.lock").read_text(encoding="utf-8")
    difference = compare_locks(again, remake(again))
    assert difference.is_same
    assert difference.is_workload_same
    assert [t.status for t in difference.tokenizers] == ["same"]


def test_an_exchanged_tokenizer_is_shown_and_priced(work: Path) -> None:
    lock = priced()
    old = jeton.load("tok.json")
    new = train_tiny(vocab_size=300)
    exchange(new)
    (found,) = compare_locks(lock, remake(lock)).tokenizers
    assert found.status == "changed"
    assert found.files == ("tok.json",)
    assert {"vocab_size", "model.merges", "special_tokens"} <= {
        name for name, _, _ in found.settings
    }
    assert found.is_behaviour_changed
    shown = {c.text: c for c in found.changed_texts if c.is_canary}
    assert list(shown) == [text for text in shown if text], "the empty text has no ids to change"
    first = shown[CANARIES[1]]
    assert (first.n_tokens_before, first.n_tokens_after) == (
        old.count(CANARIES[1]),
        new.count(CANARIES[1]),
    )
    assert "".join(first.pieces_before) == "".join(first.pieces_after) == CANARIES[1]
    extra = sum(new.count(t) - old.count(t) for t in documentation()[:8])
    assert found.usd_per_year is not None
    assert found.usd_per_year.basis is Basis.EXACT
    expected = Decimal(extra) / 8 * 1000 * 365 * 2 / 1_000_000
    assert found.usd_per_year.value == expected.quantize(Decimal("0.01"))
    assert "1,000" in found.usd_per_year.formula


@pytest.mark.parametrize("gone", [False, True])
def test_money_is_estimated_where_the_text_is_not_what_it_was(work: Path, gone: bool) -> None:
    lock = priced()
    exchange(train_tiny(vocab_size=300))
    corpus = work / "corpus.jsonl"
    if gone:
        corpus.unlink()
    else:
        corpus.write_text(corpus.read_text(encoding="utf-8") + '\n{"text": "more"}', "utf-8")
    difference = compare_locks(lock, remake(lock))
    (found,) = difference.tokenizers
    assert not difference.is_workload_same
    assert found.usd_per_year is not None
    assert found.usd_per_year.basis is Basis.ESTIMATED
    assert found.usd_per_year.value > 0
    assert found.tokens_per_request is not None
    assert [f.basis for f in found.tokens_per_request] == [Basis.EXACT, Basis.ESTIMATED]


def test_a_setting_is_named_with_both_values(work: Path) -> None:
    lock = make_lock(tokenizers=["tok.json"])

    def special(plain: dict[str, Any]) -> None:
        plain["added_tokens"][0]["lstrip"] = True

    edit(work / "tok.json", special)
    (found,) = compare_locks(lock, remake(lock)).tokenizers
    assert [name for name, _, _ in found.settings] == ["added_tokens"]
    assert '"lstrip": false' in found.settings[0][1]
    assert '"lstrip": true' in found.settings[0][2]
    assert not found.is_behaviour_changed
    assert found.usd_per_year is None


def test_other_bytes_of_the_same_tokenizer_are_seen(work: Path) -> None:
    lock = make_lock(tokenizers=["tok.json"])
    edit(work / "tok.json", lambda plain: None)
    (found,) = compare_locks(lock, remake(lock)).tokenizers
    assert (found.status, found.files, found.settings) == ("changed", ("tok.json",), ())
    assert not found.changed_texts


def test_folders_are_locked_with_their_chat_template(work: Path) -> None:
    folder = work / "model"
    folder.mkdir()
    (work / "tok.json").rename(folder / "tokenizer.json")
    (folder / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    (folder / "README.md").write_text("not of it", encoding="utf-8")
    lock = make_lock(tokenizers=["model/"])
    assert [f.name for f in lock.tokenizers[0].files] == ["chat_template.jinja", "tokenizer.json"]
    (folder / "chat_template.jinja").write_text("{{ bos }}{{ messages }}", encoding="utf-8")
    (found,) = compare_locks(lock, remake(lock)).tokenizers
    assert found.files == ("chat_template.jinja",)


def test_added_removed_and_libraries(work: Path) -> None:
    one, two = (
        make_lock(tokenizers=["tok.json"]),
        make_lock(tokenizers=["tok.json", "jeton-code-32k"]),
    )
    assert [t.status for t in compare_locks(one, two).tokenizers] == ["same", "added"]
    assert [t.status for t in compare_locks(two, one).tokenizers] == ["same", "removed"]
    other = Lock(one.tokenizers, one.canaries, {**one.libraries, "tokenizers": "0.0.1"})
    difference = compare_locks(other, one)
    assert difference.is_same, "a version of another library changes nothing here"
    assert [name for name, _, _ in difference.libraries] == ["tokenizers"]
    assert one.libraries["jeton"] == jeton.__version__


def test_bad_requests(work: Path) -> None:
    with pytest.raises(UsageError, match="no tokenizer"):
        make_lock(tokenizers=[])
    with pytest.raises(UsageError, match="given twice"):
        make_lock(tokenizers=["tok.json", "tok.json"])
    with pytest.raises(UsageError, match="--corpus"):
        make_lock(tokenizers=["tok.json"], traffic=traffic())
    with pytest.raises(UnknownPriceError):
        Traffic.find("no-such-model-at-all", requests_per_day=1)
    with pytest.raises(UsageError, match="above 0"):
        Traffic.find("usd:1", requests_per_day=0)
    with pytest.raises(FileNotFoundError, match="jeton lock TOKENIZER"):
        Lock.read("none.lock")


def test_damage_is_a_clear_error(work: Path) -> None:
    plain = json.loads(priced().to_json())

    def damaged(*path: str | int, value: Any) -> str:
        copy = json.loads(json.dumps(plain))
        place = copy
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        return json.dumps(copy)

    tokenizer = ("tokenizers", 0)
    cases = [
        "",
        "[" * 100_000,
        "[]",
        "null",
        damaged("schema_version", value="jeton.lock/9"),
        damaged("tokenizers", value=None),
        damaged("canaries", value=["one"]),
        damaged("workload", "n_documents", value=-3),
        damaged("workload", "n_tokens", value=[1]),
        damaged("workload", "documents", value="word"),
        damaged("workload", "traffic", "usd_per_mtok_input", value="much"),
        damaged(*tokenizer, "probe", value={}),
        damaged(*tokenizer, "probe", "digests", value="AAAA"),
        damaged(*tokenizer, "probe", "cuts", value="AAAA"),
        damaged(*tokenizer, "probe", "cuts", value="&"),
        damaged(*tokenizer, "files", value=[{}]),
        damaged(*tokenizer, "special_tokens", value=[[1]]),
        damaged(*tokenizer, "vocab_size", value="many"),
    ]
    for case in cases:
        with pytest.raises(FormatError) as error:
            Lock.from_json(case, path="jeton.lock")
        assert "jeton.lock" in str(error.value)


def cli(*words: str) -> Result:
    return CliRunner().invoke(app, ["lock", *words])


def test_the_command(work: Path) -> None:
    (work / "canaries.txt").write_text("\n".join(CANARIES), encoding="utf-8")
    made = cli(
        "tok.json",
        "jeton-code-32k",
        "--canary",
        "canaries.txt",
        "--corpus",
        "corpus.jsonl",
        "--price-model",
        "usd:2",
        "--requests-per-day",
        "1000",
    )
    assert made.exit_code == 0, made.output
    first = (work / "jeton.lock").read_bytes()
    same = cli("--check")
    assert (same.exit_code, same.stdout) == (0, "same     tok.json\nsame     jeton-code-32k\n")
    exchange(train_tiny(vocab_size=300))
    changed = cli("--check")
    assert changed.exit_code == 1
    assert "canary, " in changed.stdout
    assert "USD a year (exact)" in changed.stdout
    assert (work / "jeton.lock").read_bytes() == first, "--check writes nothing"
    as_json = json.loads(cli("--check", "--json").stdout)
    assert not as_json["is_same"]
    assert as_json["tokenizers"][0]["usd_per_year"]["basis"] == "exact"
    (work / "old.lock").write_bytes(first)
    assert cli("--update").exit_code == 0
    assert cli("--check").exit_code == 0
    between = cli("--diff", "old.lock")
    assert between.exit_code == 1
    assert "changed  tok.json" in between.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no tokenizer is given"),
        (["--check", "--update"], "exclude one another"),
        (["--check", "tok.json"], "goes by what the lock file says"),
        (["--check", "--canary", "x"], "goes by what the lock file says"),
        (["tok.json", "--price-model", "usd:1"], "go together"),
        (["tok.json", "--price-model", "usd:1", "--requests-per-day", "5"], "--corpus"),
        (["tok.json", "--canary", "corpus.jsonl.none"], "no such file"),
        (["tok.json", "--canary", "empty"], "holds no text"),
        (["tok.json", "--canary", "bytes"], "not UTF-8"),
        (["--check"], "there is no lock"),
        (["no-such-tokenizer"], "unknown tokenizer"),
    ],
)
def test_bad_command_lines(words: list[str], message: str, work: Path) -> None:
    (work / "empty").touch()
    (work / "bytes").write_bytes(b"a\xffb")
    result = cli(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (work / "jeton.lock").exists()
