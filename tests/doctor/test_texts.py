"""Languages, preparation of texts, retrieval, settings, outputs: what the checks stand on."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.doctor import (
    Settings,
    compare_texts,
    cut_into_chunks,
    diagnose,
    language_premiums,
    read_outputs,
    read_settings,
    retrieval_fit,
)
from jeton.doctor.normalization import STEPS, parallel_texts, script_shares
from jeton.doctor.settings import NOT_SET, differing, machine_settings, write_snapshot
from jeton.errors import FormatError, RecordError, UsageError
from jeton.formats.reading import read
from jeton.guard.mojibake import from_windows_1252
from tests.doctor import ward

WORDS = ["Café au lait", "It’s “fine”", "a\r\nb", "x  y", " z ", "A&amp;B", "naïve\u200b", "№ ﬁ"]


def test_the_sentences_are_one_text_in_many_languages() -> None:
    texts = parallel_texts()
    assert next(iter(texts)) == "English"
    assert len(texts) >= 25
    for text in texts.values():
        assert text == unicodedata.normalize("NFC", text)
        assert 30 < len(text) < 260


def test_premiums_agree_with_the_declaration_of_human_rights(shared: Path) -> None:
    """The short sentences stand for long aligned text: compare both on real vocabularies."""
    names = {
        "eng": "English",
        "deu_1996": "German",
        "fra": "French",
        "spa": "Spanish",
        "rus": "Russian",
        "ell_monotonic": "Greek",
        "hin": "Hindi",
        "ben": "Bengali",
        "tha": "Thai",
        "jpn": "Japanese",
        "kor": "Korean",
        "tur": "Turkish",
        "vie": "Vietnamese",
        "fin": "Finnish",
        "pol": "Polish",
        "kat": "Georgian",
        "heb": "Hebrew",
        "arb": "Arabic",
        "tam": "Tamil",
        "cmn_hans": "Chinese",
    }
    raw = read(shared / "data" / "corpora" / "udhr.jsonl.zst")
    records = [json.loads(line) for line in raw.decode().splitlines()]
    # The Vietnamese declaration is stored decomposed, which costs tokens by itself.
    documents = {
        names[record["lang"]]: unicodedata.normalize("NFC", record["text"])
        for record in records
        if record["lang"] in names
    }
    assert len(documents) == len(names), sorted(documents)
    for vocabulary in ("gpt2.json.zst", "cl100k_base.tiktoken.zst", "llama2.json.zst"):
        tokenizer = jeton.load(str(shared / "data" / "vocab" / vocabulary))
        base = tokenizer.count(documents["English"])
        ours = {p.language: p.premium for p in language_premiums(tokenizer)}
        pairs = [
            (ours[name], tokenizer.count(text) / base)
            for name, text in documents.items()
            if name != "English"
        ]
        logs = np.log(np.asarray(pairs))
        assert np.corrcoef(logs.T)[0, 1] > 0.97
        # Plain sentences cost a fifth less than legal ones; no language is off by a factor of two.
        assert -0.35 < float(np.median(logs[:, 0] - logs[:, 1])) < 0
        assert float(np.abs(logs[:, 0] - logs[:, 1]).max()) < np.log(2)


def test_scripts_of_texts() -> None:
    shares = script_shares(["abc абв", "日本 12 !?"])
    assert shares["English"] == pytest.approx(3 / 8)
    assert shares["Russian"] == pytest.approx(3 / 8)
    assert shares["Chinese"] == pytest.approx(2 / 8)
    assert script_shares(["123 ..."]) == {}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("side", ["as served", "at training"])
def test_a_step_that_runs_on_one_side_is_found(step: str, side: str) -> None:
    prepared = [STEPS[step](word) for word in WORDS]
    # Only texts that the step changes tell anything.
    pairs = [(a, b) for a, b in zip(WORDS, prepared, strict=True) if a != b]
    if step in ("NFC", "NFD"):
        words = [unicodedata.normalize("NFD" if step == "NFC" else "NFC", w) for w in WORDS]
        pairs = [(w, STEPS[step](w)) for w in words if STEPS[step](w) != w]
    assert pairs
    raw, done = [a for a, _ in pairs], [b for _, b in pairs]
    training, serving = (raw, done) if side == "as served" else (done, raw)
    found = compare_texts(training, serving)
    assert sum(int(difference.value) for difference in found) == len(pairs)
    # Another step may do the same to the same text, and is named then.
    assert all(difference.step for difference in found)
    assert all(difference.is_exact for difference in found)


def test_texts_that_are_alike_have_no_difference() -> None:
    assert compare_texts(WORDS, WORDS) == ()
    assert compare_texts(WORDS * 10, WORDS * 20) == ()
    assert compare_texts([], []) == ()


def test_a_step_on_other_texts_is_found_by_shares() -> None:
    training = [f"Some Café number {i}" for i in range(200)]
    serving = [f"another naïve text, {i}" for i in range(300)]
    (found,) = compare_texts(training, serving)
    assert found.step == "lower case"
    assert not found.is_exact
    assert "as served" in found.what


@given(st.lists(st.text(max_size=40), max_size=4), st.integers(1, 9))
def test_chunks_are_the_text_and_keep_the_size(texts: list[str], size: int) -> None:
    tokenizer = ward.tokenizer()
    chunks = cut_into_chunks(texts, tokenizer=tokenizer, max_tokens=size)
    assert "".join(chunks) == "".join(texts)
    # A character of several tokens may stand across the end of a chunk, whole.
    assert all(tokenizer.count(chunk) <= size + 3 for chunk in chunks)


def test_what_truncation_loses_is_counted() -> None:
    reader, embedder = ward.tokenizer(), ward.tokenizer(merges=[])
    fit = retrieval_fit(
        ["hello world" * 2, "hello"], reader=reader, embedder=embedder, embedder_max_tokens=10
    )
    # 22 letters are 22 tokens without merges, of which 10 are read; 5 fit.
    assert (fit.n_chunks, fit.n_truncated, fit.tokens_lost) == (2, 1, 12)
    assert (fit.tokens_total, fit.chars_lost, fit.longest_tokens) == (27, 12, 22)
    assert fit.lost_share == 12 / 27
    assert fit.worst == ((0, 12),)
    safe = retrieval_fit(
        ["hello world" * 2, "hello"],
        reader=reader,
        embedder=embedder,
        embedder_max_tokens=10,
        chunk_tokens=fit.safe_chunk_tokens,
    )
    assert safe.n_truncated == 0


def test_prefix_and_special_tokens_take_room() -> None:
    tokenizer = ward.tokenizer(bos=True)
    options = {"reader": tokenizer, "embedder": tokenizer, "embedder_max_tokens": 3}
    assert retrieval_fit(["hello"], **options).n_overhead_tokens == 1  # type: ignore[arg-type]
    fit = retrieval_fit(["hello world"], prefix="w", **options)  # type: ignore[arg-type]
    assert (fit.n_overhead_tokens, fit.n_truncated) == (2, 1)
    with pytest.raises(UsageError, match="room for text"):
        retrieval_fit(["hello"], prefix="xyz", **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no text"):
        retrieval_fit([""], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("broken", "meant"),
    [("cafÃ©", "é"), ("itâ€™s", "’"), ("Ã¼ber", "ü"), ("ä½\xa0å¥½", "你好")],
)
def test_mojibake_is_seen(broken: str, meant: str) -> None:
    found = from_windows_1252(broken)
    assert found is not None
    assert meant in found


@pytest.mark.parametrize("text", ["café", "Ã", "Ärger «ja»", "naïve", "你好", "É ©", "", "Â"])
def test_honest_text_is_no_mojibake(text: str) -> None:
    assert from_windows_1252(text) is None


def test_outputs_of_every_form(tmp_path: Path) -> None:
    file = tmp_path / "o.jsonl"
    lines = [
        {"text": "a", "ids": [1, 2]},
        {"response": "b"},
        {"pieces": ["c", "d"]},
        [3, 4],
        "plain",
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    found = read_outputs(file)
    assert [(o.text, o.ids) for o in found] == [
        ("a", (1, 2)),
        ("b", None),
        ("cd", None),
        (None, (3, 4)),
        ("plain", None),
    ]
    assert found[1].where.endswith("line 2")
    (tmp_path / "o.txt").write_bytes(b"caf\xe9")
    (found_text,) = read_outputs(tmp_path / "o.txt")
    assert found_text.text == "caf\ufffd"
    for bad in ("{", '{"x": 1}', "[[1]]", "5"):
        file.write_text(bad)
        with pytest.raises(RecordError, match="line 1"):
            read_outputs(file)


def test_settings_of_one_kind_count_what_is_missing() -> None:
    a = Settings("a", {"tokenizer.x": 1, "library.l": "1", "python.v": "3"}, kind="snapshot")
    b = Settings("b", {"library.l": "2", "python.v": "3", "python.w": 1}, kind="snapshot")
    # b has no tokenizer at all, so that it does not lack its setting.
    assert list(differing(a, b)) == [("library.l", "1", "2"), ("python.w", NOT_SET, 1)]
    c = Settings("c", {"x": 2, "y": 3})
    assert list(differing(a, c)) == [("x", 1, 2)]


def test_settings_files(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('max_length = 5\n[tokenizer]\npadding_side = "left"\n')
    (tmp_path / "a.json").write_text('{"max_length": 5, "tokenizer": {"padding_side": "left"}}')
    expected = {"max_length": 5, "tokenizer.padding_side": "left"}
    assert read_settings(tmp_path / "a.toml").values == expected
    assert read_settings(tmp_path / "a.json").values == expected
    for name, text in (
        ("b.toml", "x ="),
        ("b.json", "[1]"),
        ("c.json", '{"schema_version": "jeton.snapshot/99", "settings": {}}'),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(FormatError):
            read_settings(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_settings(tmp_path / "none.json")


def test_two_settings_files_are_compared(tmp_path: Path) -> None:
    (tmp_path / "train.toml").write_text('max_length = 512\npadding_side = "right"\n')
    (tmp_path / "serve.toml").write_text('max_length = 384\npadding_side = "right"\n')
    found = diagnose(
        ward.tokenizer(), settings=tmp_path / "train.toml", against=tmp_path / "serve.toml"
    )
    (finding,) = [f for f in found.findings if f.id == "settings-differ"]
    assert "max_length is 512 here and 384 there" in finding.title
    assert "cut at another length" in finding.title


def test_a_snapshot_of_this_machine_equals_this_machine(tmp_path: Path) -> None:
    folder = ward.model_dir(tmp_path / "m")
    program = (
        "import sys; from jeton.doctor import admit, own_settings, write_snapshot;"
        "write_snapshot(sys.argv[2], own_settings(admit(sys.argv[1]), kind='snapshot').values)"
    )
    snapshot = tmp_path / "there.json"
    subprocess.run([sys.executable, "-c", program, str(folder), str(snapshot)], check=True)
    found = diagnose(folder, against=snapshot)
    assert "settings-differ" in found.looked_for
    assert not [f for f in found.findings if f.id.endswith("differ")]


def test_snapshots_hold_no_other_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "secret-value")
    monkeypatch.setenv("PYTHONUTF8", "1")
    write_snapshot(tmp_path / "s.json", machine_settings())
    text = (tmp_path / "s.json").read_text()
    assert "secret-value" not in text
    assert '"environment.PYTHONUTF8": "1"' in text


def test_two_folders_are_compared(tmp_path: Path) -> None:
    one = ward.model_dir(tmp_path / "one")
    two = ward.model_dir(
        tmp_path / "two",
        tokens={"normalizer": {"type": "Lowercase"}},
        tokenizer_config={"padding_side": "right"},
    )
    found = {f.id: f for f in diagnose(one, against=two).findings}
    assert "padding_side is 'left' here and 'right' there" in found["settings-differ"].title
    assert "'Ab'" in found["normalization-differs"].title
    assert found["tokenizers-differ"].severity == "error"


def test_nothing_to_look_at_is_an_error() -> None:
    with pytest.raises(UsageError, match="nothing to look at"):
        diagnose()
