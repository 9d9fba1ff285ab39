"""Runs: any number of workers, any interruption, any kind of input give the same bytes."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jeton
from jeton._core import compress_zstd
from jeton.datasets import reading, shards, units
from jeton.errors import CorpusError, EmptyCorpusError, InvalidTextError, RecordError, UsageError
from tests.datasets.readers import read_megatron

TOKENIZER = "jeton-general-32k"


@pytest.fixture(scope="module")
def tok() -> jeton.Tokenizer:
    return jeton.load(TOKENIZER)


@pytest.fixture
def _small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts files of some hundred bytes as if they were large."""
    monkeypatch.setattr(units, "UNIT_BYTES", 200)
    monkeypatch.setattr(reading, "BATCH_BYTES", 300)


def corpus(n: int = 100, seed: int = 3) -> list[str]:
    rng = random.Random(seed)
    words = ["boat", "lake", "drei", "Vögel", "東京", "12 345", "\n", "naïve"]
    return [" ".join(rng.choices(words, k=rng.choice((0, 1, 5, 40, 90)))) for _ in range(n)]


def jsonl(texts: list[str]) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a data set; the manifest states times of the inputs."""
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.name != "manifest.json"}


def run(source: Any, folder: Path, **options: Any) -> Any:
    given = {"tokenizer": TOKENIZER, "append_eos": True, "shard_tokens": 300, **options}
    return jeton.tokenize_dataset(source, output=folder, **given)


def wanted(tok: jeton.Tokenizer, texts: list[str]) -> list[list[int]]:
    return [[*tok.encode(text), tok.end_token_ids[0]] for text in texts if text]


@pytest.mark.usefixtures("_small_units")
@pytest.mark.parametrize("kind", ["jsonl", "lines", "zst", "members", "parquet", "files", "mixed"])
def test_same_bytes_for_any_number_of_workers(
    tmp_path: Path, tok: jeton.Tokenizer, kind: str
) -> None:
    texts = corpus()
    options: dict[str, Any] = {}
    source = tmp_path / "in"
    source.mkdir()
    data = jsonl(texts)
    if kind == "jsonl":
        (source / "a.jsonl").write_bytes(data)
    elif kind == "lines":
        texts = [text.replace("\n", " ") for text in texts]
        (source / "a.txt").write_bytes("\r\n".join(texts).encode())
        options["documents"] = "line"
    elif kind == "zst":
        (source / "a.jsonl.zst").write_bytes(compress_zstd(data))
    elif kind == "members":
        half = data.index(b"\n", len(data) // 2) + 1
        (source / "a.jsonl.gz").write_bytes(gzip.compress(data[:half]) + gzip.compress(data[half:]))
    elif kind == "parquet":
        pq.write_table(pa.table({"text": texts}), source / "a.parquet", row_group_size=7)
    elif kind == "files":
        for i, text in enumerate(texts):
            (source / f"{i:04d}.txt").write_text(text, newline="")
    else:
        (source / "a.jsonl").write_bytes(jsonl(texts[:45]))
        (source / "b.jsonl.zst").write_bytes(compress_zstd(jsonl(texts[45:50])))
        pq.write_table(pa.table({"text": texts[50:]}), source / "c.parquet", row_group_size=9)
    made = [run(source, tmp_path / str(n), workers=n, **options) for n in (1, 2, 7)]
    assert contents(tmp_path / "1") == contents(tmp_path / "2") == contents(tmp_path / "7")
    assert read_megatron(tmp_path / "1") == wanted(tok, texts)
    assert len(made[0].shards) > 5
    assert jeton.verify_dataset(tmp_path / "1", sample=50).to_dict()["faults"] == []


@pytest.mark.parametrize("kind", ["zst", "gz"])
def test_a_large_compressed_file_is_the_same_decompressed_ahead(tmp_path: Path, kind: str) -> None:
    """A file beyond the 8 MiB from which on the core takes a thread for it."""
    data = jsonl([f"{i} on the lake " * 200 for i in range(3000)])
    assert len(data) > 8 << 20
    packed = compress_zstd(data, level=1) if kind == "zst" else gzip.compress(data, 1)
    path = tmp_path / f"a.jsonl.{kind}"
    path.write_bytes(packed)
    for workers in (1, 3):
        made = run(path, tmp_path / str(workers), workers=workers, shard_tokens=10**6)
        assert made.n_documents == 3000
    assert contents(tmp_path / "1") == contents(tmp_path / "3")
    path.write_bytes(packed + (compress_zstd(b"{bad") if kind == "zst" else gzip.compress(b"{bad")))
    with pytest.raises(RecordError, match=r"a\.jsonl\.\w+, line 3001: not valid JSON"):
        run(path, tmp_path / "bad", workers=3, shard_tokens=10**6)
    path.write_bytes(packed[:-9])
    with pytest.raises(CorpusError, match="the compressed data is damaged or incomplete"):
        run(path, tmp_path / "cut", workers=3, shard_tokens=10**6)


@pytest.mark.usefixtures("_small_units")
def test_shards_name_their_documents(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    texts = corpus(60)
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(texts))
    made = run(path, tmp_path / "o")
    numbers = [i for i, text in enumerate(texts) if text]
    done = 0
    for shard in made.shards:
        ((name, first, n),) = shard.inputs
        assert (name, first) == (str(path), numbers[done])
        done += n
    assert done == len(numbers)


@pytest.mark.usefixtures("_small_units")
@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("kind", ["megatron", "parquet", "mds"])
def test_a_run_that_died_after_any_shard_goes_on_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any, seed: int
) -> None:
    path = tmp_path / "a.jsonl"
    data = jsonl(corpus(70, seed))
    path.write_bytes(data + b'{"text": null}\n' * 3)
    options: dict[str, Any] = {"format": kind, "shuffle": 5 if seed else None}
    whole = run(path, tmp_path / "whole", **options)
    real = shards.ShardCutter._close

    def dies(limit: int) -> None:
        def close(self: shards.ShardCutter) -> None:
            if self._number >= limit:
                raise MemoryError("the power went out")
            real(self)

        monkeypatch.setattr(shards.ShardCutter, "_close", close)

    folder = tmp_path / "o"
    for limit in (1, 2, 4):
        dies(limit)
        with pytest.raises(MemoryError):
            run(path, folder, resume=True, workers=limit, **options)
    monkeypatch.setattr(shards.ShardCutter, "_close", real)
    (folder / "tokens-99999.bin.jeton-tmp").write_bytes(b"left over")
    made = run(path, folder, resume=True, **options)
    assert made.n_resumed_shards == 4
    assert contents(folder) == contents(tmp_path / "whole")
    assert made.read == whole.read
    assert made.shards == whole.shards
    again = run(path, folder, resume=True, **options)
    assert again.shards == whole.shards


@pytest.mark.parametrize("shuffle", [None, 7])
def test_kill_9_and_resume(tmp_path: Path, shuffle: int | None) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(corpus(2000)))
    run(path, tmp_path / "whole", shard_tokens=2000, shuffle=shuffle)
    program = [sys.executable, "-m", "jeton", "tokenize", str(path), "-t", TOKENIZER]
    program += ["--append-eos", "--shard-tokens", "2000", "-o", str(tmp_path / "o"), "-q"]
    program += [] if shuffle is None else ["--shuffle", str(shuffle)]
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL)
    journal = tmp_path / "o" / ".jeton-journal.jsonl"
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if journal.exists() and journal.stat().st_size:
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.002)
    assert process.wait() == -signal.SIGKILL
    subprocess.run([*program, "--resume"], check=True, stdout=subprocess.DEVNULL)
    assert contents(tmp_path / "o") == contents(tmp_path / "whole")


def test_resume_refuses_what_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(corpus(50)))
    folder = tmp_path / "o"
    monkeypatch.setattr(
        shards.ShardCutter, "_close", lambda self: (_ for _ in ()).throw(MemoryError())
    )
    with pytest.raises(MemoryError):
        run(path, folder)
    monkeypatch.undo()
    with pytest.raises(UsageError, match="not finished"):
        run(path, folder)
    for changed, message in (
        ({"tokenizer": "jeton-code-32k"}, "the tokenizer is another one"),
        ({"append_eos": False}, "the ids behind each document were"),
        ({"shard_tokens": 301}, "shard_tokens was 300, now it is 301"),
        ({"shuffle": 1}, "shuffle_seed"),
    ):
        with pytest.raises(UsageError, match=message):
            run(path, folder, resume=True, **changed)
    other = tmp_path / "b.jsonl"
    other.write_bytes(b'{"text": "b"}\n')
    with pytest.raises(UsageError, match=r"b\.jsonl was not there"):
        run([path, other], folder, resume=True)
    path.write_bytes(jsonl(corpus(51)))
    with pytest.raises(UsageError, match=r"a\.jsonl changed"):
        run(path, folder, resume=True)
    with pytest.raises(UsageError, match="cannot be resumed"):
        run(iter(["a"]), tmp_path / "p", resume=True)


def test_a_finished_folder_is_not_written_over(tmp_path: Path) -> None:
    run(iter(["one boat"]), tmp_path / "o")
    with pytest.raises(UsageError, match="finished data set"):
        run(iter(["one boat"]), tmp_path / "o")


@pytest.mark.usefixtures("_small_units")
def test_shuffle_is_a_permutation_that_nothing_but_the_seed_decides(
    tmp_path: Path, tok: jeton.Tokenizer
) -> None:
    texts = corpus()
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(texts))
    for name, options in {
        "a": {"shuffle": 1},
        "b": {"shuffle": 1, "workers": 5},
        "c": {"shuffle": 2},
    }.items():
        run(path, tmp_path / name, **options)
    assert contents(tmp_path / "a") == contents(tmp_path / "b") != contents(tmp_path / "c")
    plain, drawn = wanted(tok, texts), read_megatron(tmp_path / "a")
    assert drawn != plain
    assert sorted(drawn) == sorted(plain)
    assert jeton.verify_dataset(tmp_path / "a").n_compared == len(plain)
    # Tokenizing first and shuffling later is the same.
    run(path, tmp_path / "d")
    jeton.transcode_dataset(
        tmp_path / "d", output=tmp_path / "e", format="megatron", shuffle=1, shard_tokens=300
    )
    assert contents(tmp_path / "e") == contents(tmp_path / "a")


def test_cells_that_are_too_large_are_divided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jeton.datasets import shuffling

    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(corpus(150)))
    run(path, tmp_path / "a", shuffle=3, shard_tokens=100_000)
    monkeypatch.setattr(shuffling, "CELL_BITS", 2)
    monkeypatch.setattr(shuffling, "MAX_CELL_BYTES", 9000)
    run(path, tmp_path / "b", shuffle=3, shard_tokens=100_000)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.usefixtures("_small_units")
def test_lines_longer_than_ranges(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    texts = ["a boat " * 400, "x", "", "b lake " * 30, "y" * 199, "end"]
    path = tmp_path / "a.jsonl"
    for end in (b"\n", b""):
        path.write_bytes(jsonl(texts).rstrip(b"\n") + end)
        folder = tmp_path / f"o{len(end)}"
        run(path, folder, workers=3)
        assert read_megatron(folder) == wanted(tok, texts)


@pytest.mark.usefixtures("_small_units")
def test_errors_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(corpus(100)) + b"{bad\n" + jsonl(["last"]))
    with pytest.raises(RecordError, match=r"a\.jsonl, line 101: not valid JSON") as caught:
        run(path, tmp_path / "o", workers=2)
    assert caught.value.line == 101
    made = run(path, tmp_path / "p", on_bad_record="skip")
    assert made.read.n_bad_records == 1
    (tmp_path / "c.txt").write_bytes(b"bad \x80")
    with pytest.raises(InvalidTextError):
        run(tmp_path / "c.txt", tmp_path / "q", strict=True)


@pytest.mark.usefixtures("_small_units")
def test_a_file_that_changes_or_goes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = corpus(120)
    real = shards.ShardCutter.add

    def after(n: int, act: Any) -> None:
        calls = iter(range(10**9))

        def add(self: Any, unit: int, piece: Any) -> None:
            if next(calls) == n:
                act()
            real(self, unit, piece)

        monkeypatch.setattr(shards.ShardCutter, "add", add)

    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(texts))

    def grow() -> None:
        with path.open("ab") as stream:
            stream.write(b'{"text": "more"}\n')

    after(2, grow)
    with pytest.raises(CorpusError, match=r"a\.jsonl changed while it was read"):
        run(path, tmp_path / "o", workers=1)
    path.write_bytes(jsonl(texts))
    after(2, path.unlink)
    with pytest.raises(FileNotFoundError, match=r"a\.jsonl"):
        run(path, tmp_path / "p", workers=1)
    assert not list(tmp_path.glob("*/*.jeton-tmp"))


def test_a_full_disk_is_an_error_and_the_run_resumes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(corpus(3000)))
    program = [sys.executable, "-B", "-m", "jeton", "tokenize", str(path), "-t", TOKENIZER]
    program += ["-o", str(tmp_path / "o"), "-q"]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    failed = subprocess.run(program, capture_output=True, text=True, preexec_fn=limit, check=False)
    assert failed.returncode == 2
    assert "tokens-00000.bin" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not list((tmp_path / "o").glob("*.bin*"))
    assert subprocess.run([*program, "--resume"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("shuffle", [None, 3])
def test_a_full_disk_names_the_place_and_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shuffle: int | None
) -> None:
    from jeton._os_errors import os_message
    from jeton.datasets import shuffling

    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(corpus(60)))
    whole = run(path, tmp_path / "whole", shuffle=shuffle)
    folder = tmp_path / "o"

    def full(*_: Any) -> None:
        # As a buffered stream tells it: without a name.
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for owner, name in ((shuffling, "write_arrays"), (shards.ShardCutter, "_write")):
        if owner is shuffling and shuffle is None:
            continue
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, full)
            with pytest.raises(OSError, match="left on") as caught:
                run(path, folder, shuffle=shuffle, resume=True)
        assert os_message(caught.value) == (
            f"{folder}: no space left on device; 0 shards are finished\n"
            "hint: make room there, then --resume (resume=True) goes on"
        )
    assert run(path, folder, shuffle=shuffle, resume=True).shards == whole.shards


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "o").write_text("a file")
    with pytest.raises(OSError, match="o"):
        run(iter(["one"]), tmp_path / "o")
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "tokens-00000.bin.jeton-tmp").mkdir()
    with pytest.raises(OSError, match=r"tokens-00000\.bin"):
        run(iter(["one"]), tmp_path / "p")


@pytest.mark.parametrize("texts", [[], ["", ""], ["", "", "\n"]])
def test_nothing_to_tokenize(tmp_path: Path, tok: jeton.Tokenizer, texts: list[str]) -> None:
    if any(tok.encode(text) for text in texts):
        assert run(iter(texts), tmp_path / "o").n_documents == 1
        return
    with pytest.raises(EmptyCorpusError):
        run(iter(texts), tmp_path / "o")
    assert list((tmp_path / "o").iterdir()) == []


def test_many_small_files_are_one_shard(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    source = tmp_path / "in"
    source.mkdir()
    texts = [f"note {i}" for i in range(150)]
    for i, text in enumerate(texts):
        (source / f"{i:03d}.txt").write_text(text)
    (source / "picture.bin").write_bytes(b"\0\1\2")
    made = run(source, tmp_path / "o", shard_tokens=100_000)
    assert read_megatron(tmp_path / "o") == wanted(tok, texts)
    assert len(made.shards) == 1
    assert len(made.shards[0].inputs) == 150
    assert [Path(path).name for path, _ in made.skipped] == ["picture.bin"]


def test_object_stores(tmp_path: Path, tok: jeton.Tokenizer, monkeypatch: Any) -> None:
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.setattr(units, "UNIT_BYTES", 500)
    texts = corpus(40)
    memory = fsspec.filesystem("memory")
    memory.pipe("/bucket/a.jsonl", jsonl(texts[:30]))
    memory.pipe("/bucket/b.jsonl.zst", compress_zstd(jsonl(texts[30:])))
    (tmp_path / "a.jsonl").write_bytes(jsonl(texts[:30]))
    (tmp_path / "b.jsonl.zst").write_bytes(compress_zstd(jsonl(texts[30:])))
    for name, source in {
        "memory": "memory://bucket",
        "glob": "memory://bucket/*.jsonl*",
        "file": f"file://{tmp_path}/*.jsonl*",
    }.items():
        run([source], tmp_path / name)
        assert read_megatron(tmp_path / name) == wanted(tok, texts), name
    with pytest.raises(FileNotFoundError, match="memory://nowhere"):
        run(["memory://nowhere/a.jsonl"], tmp_path / "x")
    with pytest.raises(UsageError, match="nosuch"):
        run(["nosuch://bucket/a.jsonl"], tmp_path / "x")


def test_an_output_in_an_object_store_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"s3://bucket/tokens is an address; expected a local"):
        run(iter(["one boat"]), "s3://bucket/tokens")  # type: ignore[arg-type]
    made = run(iter(["one boat"]), tmp_path / "o")
    with pytest.raises(UsageError, match="memory://x is an address"):
        jeton.transcode_dataset(made.folder, output="memory://x", format="mds")
    assert [path.name for path in tmp_path.iterdir()] == ["o"]


def test_standard_input(tmp_path: Path, tok: jeton.Tokenizer) -> None:
    program = [sys.executable, "-m", "jeton", "tokenize", "-", "-t", TOKENIZER]
    program += ["--input-format", "jsonl", "-o", str(tmp_path / "o"), "--json"]
    done = subprocess.run(
        program, input=jsonl(["one boat", "", "x"]), capture_output=True, check=True
    )
    assert json.loads(done.stdout)["n_documents"] == 2
    assert read_megatron(tmp_path / "o") == [tok.encode("one boat"), tok.encode("x")]


@pytest.mark.filterwarnings("ignore:there is one shard")
def test_output_inside_of_the_input_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one boat")
    first = run(tmp_path, tmp_path / "o", format="nanochat")
    (tmp_path / "o").rename(tmp_path / "p")
    (tmp_path / "p" / "manifest.json").unlink()
    (tmp_path / "p" / "shard_00000.parquet").unlink()
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "b.txt").write_text("must not be read")
    second = run(tmp_path, tmp_path / "o", format="nanochat")
    assert first.n_tokens == second.n_tokens
