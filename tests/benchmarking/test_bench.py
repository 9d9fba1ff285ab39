"""``jeton.benchmarking``: ids before speed, honest places for whoever falls out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jeton
from jeton import Tokenizer
from jeton.benchmarking import BenchReport, bench
from jeton.benchmarking.processes import LibraryProcess, LibraryProcessError
from jeton.benchmarking.worker import LIBRARIES
from jeton.errors import EmptyCorpusError, UsageError
from jeton.report.benchmark import HEADINGS, bench_json, bench_lines, bench_markdown, bench_rows
from tests.formats import small

TEXTS = ["hello world, hello", "naïve café 日本語 🎉", "def f(x):\n\treturn x", "<|end|> is text"]


def run(tokenizer: Tokenizer, *libraries: str, texts: list[str] | None = None) -> BenchReport:
    return bench(
        iter(TEXTS if texts is None else texts),
        tokenizer=tokenizer,
        libraries=libraries or None,
        n_rounds=1,
        num_threads=1,
        timeout_s=60,
    )


@pytest.fixture(scope="module")
def alone() -> BenchReport:
    return run(small.tokenizer(), "jeton")


def test_jeton_alone_is_its_own_measure(alone: BenchReport) -> None:
    (found,) = alone.libraries
    assert found.status == "ok"
    assert found.n_different_texts == 0
    assert found.batch is not None
    assert found.one_by_one is not None
    assert found.batch.ratio == found.one_by_one.ratio == 1.0
    assert found.batch.seconds_low <= found.batch.seconds <= found.batch.seconds_high
    assert alone.n_documents == len(TEXTS)
    assert alone.n_bytes == sum(len(text.encode()) for text in TEXTS)
    assert alone.is_whole


def test_all_forms_show_it(alone: BenchReport) -> None:
    data = json.loads(bench_json(alone))
    assert data["schema_version"] == "jeton.bench/1"
    assert data["libraries"][0]["name"] == "jeton"
    (row,) = bench_rows(alone)
    assert len(row) == len(HEADINGS)
    assert "small" in "\n".join(bench_lines(alone))
    assert "| jeton |" in bench_markdown(alone)


def test_a_pretended_library_whose_ids_differ_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A module of this name that counts every id wrong in texts with an "é".
    (tmp_path / "tiktoken.py").write_text(
        "import re\n"
        "class Encoding:\n"
        "    def __init__(self, name, *, pat_str, mergeable_ranks, special_tokens):\n"
        "        self.ranks = mergeable_ranks\n"
        "    def encode_ordinary(self, text):\n"
        "        return [self.ranks[bytes([b])] for b in text.encode()]\n"
        "    def encode_ordinary_batch(self, texts, *, num_threads):\n"
        "        return [self.encode_ordinary(text) for text in texts]\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    tokenizer = small.tokenizer()
    report = run(tokenizer, "tiktoken")
    by_name = {item.name: item for item in report.libraries}
    # The pretended library is the reference of rank files: Jeton's ids are the other ones.
    assert report.reference == "tiktoken"
    assert by_name["jeton"].status == "differs"
    n = sum(tokenizer.encode(t) != list(t.encode()) for t in TEXTS)
    assert by_name["jeton"].n_different_texts == n > 0
    assert report.compared_with == "tiktoken"
    assert by_name["jeton"].batch is not None
    assert by_name["jeton"].batch.ratio is None


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("raise RuntimeError('no licence')", "failed", "RuntimeError: no licence"),
        ("import os; os._exit(7)", "failed", "ended with code 7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "failed", "ended by signal 9"),
        ("print('{}'); raise ImportError('half')", "failed", "ImportError: half"),
    ],
)
def test_what_fails_falls_out_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, status: str, words: str
) -> None:
    (tmp_path / "gigatoken.py").write_text(body, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    report = run(small.tokenizer(), "gigatoken")
    by_name = {item.name: item for item in report.libraries}
    assert by_name["gigatoken"].status == status
    assert words in by_name["gigatoken"].why
    assert by_name["jeton"].status == "ok"


def test_a_library_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tokie.py").write_text("import time\ntime.sleep(600)", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    process = LibraryProcess(num_threads=1, timeout_s=0.5)
    with pytest.raises(LibraryProcessError, match=r"no answer after 0\.5 s"):
        process.ask("load", name="tokie", files={}, num_threads=1)
    with pytest.raises(LibraryProcessError):
        process.ask("peak")


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "jeton.benchmarking.run._is_installed", lambda name: name != "tokie" and name in LIBRARIES
    )
    report = run(small.tokenizer(), "tokie")
    by_name = {item.name: item for item in report.libraries}
    assert by_name["tokie"].status == "absent"
    assert "not installed" in "\n".join(bench_lines(report))


def test_a_folder_of_the_name_is_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fastokens").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    report = run(small.tokenizer(), "fastokens")
    assert {item.name: item.status for item in report.libraries}["fastokens"] == "absent"


def test_a_library_that_cannot_read_the_tokenizer_says_why() -> None:
    report = run(small.tokenizer(), "sentencepiece")
    by_name = {item.name: item for item in report.libraries}
    assert by_name["sentencepiece"].status == "cannot"
    assert "sentencepiece" in by_name["sentencepiece"].why


@pytest.mark.rivals
@pytest.mark.parametrize("name", ["tiktoken", "tokenizers"])
def test_installed_libraries_agree_on_a_bundled_tokenizer(name: str) -> None:
    report = run(small.tokenizer(), name)
    by_name = {item.name: item for item in report.libraries}
    assert by_name[name].status == "ok", by_name[name].why
    assert by_name["jeton"].status == "ok"
    assert by_name[name].load_s is not None


def test_bad_arguments() -> None:
    with pytest.raises(UsageError, match="'nothing' is not known"):
        run(small.tokenizer(), "nothing")
    with pytest.raises(EmptyCorpusError):
        run(small.tokenizer(), "jeton", texts=["", ""])
    with pytest.raises(UsageError, match="above 0"):
        bench([], tokenizer="jeton-general-32k", n_rounds=0)


def test_every_library_says_what_it_is() -> None:
    assert "jeton" in LIBRARIES
    for name, library in LIBRARIES.items():
        assert library.module == name
        assert library.distribution
    assert jeton.__version__
