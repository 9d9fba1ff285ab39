"""Files of every format and compression, in pieces, and what is left when writing fails."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton._core import compress_zstd, decompress
from jeton._files import exchange_names
from jeton.preprocess import files, record_files
from jeton.preprocess.pipeline import StepPipeline
from jeton.preprocess.text_steps import WhitespaceStep

TOKENIZER = jeton.load("jeton-general-32k")
TEXTS = ["one   two", "", "drei  vier ü", "five\nsix   seven", '"q"  \\ 中文  x' * 40]
CLEAN = ["one two", "", "drei vier ü", "five\nsix seven", '"q" \\ 中文 x' * 40]


def run(source: Path, folder: Path, **options: Any) -> jeton.PreprocessReport:
    return jeton.preprocess_files(
        source, folder, steps="whitespace", tokenizer=TOKENIZER, num_threads=1, **options
    )


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read a few bytes at a time."""
    monkeypatch.setattr(record_files, "PIECE_BYTES", 7)
    monkeypatch.setattr(record_files, "BATCH_TEXTS", 2)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("ensure_ascii", [True, False])
@pytest.mark.usefixtures("small_pieces")
def test_a_json_array_in_pieces(tmp_path: Path, indent: int | None, ensure_ascii: bool) -> None:
    source = tmp_path / "a.json"
    numbers = [1234567890123, -1.5e30, True, None]

    def dumped(texts: list[str]) -> str:
        records = [
            {"n": numbers[i % 4], "text": text, "deep": [{"x": "]"}]}
            for i, text in enumerate(texts)
        ]
        return json.dumps(records, indent=indent, ensure_ascii=ensure_ascii) + "\n"

    source.write_text(dumped(TEXTS), encoding="utf-8")
    run(source, tmp_path / "out")
    assert (tmp_path / "out" / "a.json").read_text(encoding="utf-8") == dumped(CLEAN)


@pytest.mark.usefixtures("small_pieces")
def test_bare_values_one_after_the_other_in_pieces(tmp_path: Path) -> None:
    source = tmp_path / "a.json"
    source.write_text('["a  b", "c  d", {"text": "e  f"},\n{"text": null}]', encoding="utf-8")
    run(source, tmp_path / "out")
    expected = '["a b", "c d", {"text": "e f"},\n{"text": null}]'
    assert (tmp_path / "out" / "a.json").read_text(encoding="utf-8") == expected


@pytest.mark.parametrize("bad", ['[{"text": "a"}, {"text": tru}]', '[{"text": "a"}, {"text": "b'])
@pytest.mark.usefixtures("small_pieces")
def test_json_that_does_not_parse_is_named(tmp_path: Path, bad: str) -> None:
    source = tmp_path / "a.json"
    source.write_text(bad, encoding="utf-8")
    with pytest.raises(jeton.RecordError, match="line 1: not valid JSON"):
        run(source, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.usefixtures("small_pieces")
def test_csv_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, sign: str
) -> None:
    # The sign between cells is told from the first piece, which has the header.
    monkeypatch.setattr(record_files, "PIECE_BYTES", 32)
    source = tmp_path / "a.csv"

    def written(texts: list[str]) -> str:
        out = io.StringIO(newline="")
        rows = csv.writer(out, delimiter=sign, lineterminator=end)
        rows.writerows([["id", "text", "note"], *([i, t, "x  y"] for i, t in enumerate(texts))])
        return out.getvalue()

    source.write_bytes(written(TEXTS).encode())
    run(source, tmp_path / "out")
    assert (tmp_path / "out" / "a.csv").read_bytes().decode() == written(CLEAN)


PACK: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    ".zst": (lambda data: compress_zstd(data, level=3), lambda data: bytes(decompress(data))),
    ".gz": (gzip.compress, gzip.decompress),
}


@pytest.mark.parametrize("suffix", PACK)
def test_compressed_files_stay_compressed(tmp_path: Path, suffix: str) -> None:
    pack, unpack = PACK[suffix]
    source = tmp_path / f"a.jsonl{suffix}"
    lines = [json.dumps({"text": text}) for text in TEXTS]
    source.write_bytes(pack("\n".join(lines).encode()))
    run(source, tmp_path / "out")
    found = unpack((tmp_path / "out" / source.name).read_bytes()).decode().split("\n")
    assert [json.loads(line)["text"] for line in found] == CLEAN


def test_parquet_keeps_its_other_columns(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    source = tmp_path / "a.parquet"
    texts: list[str | None] = [*TEXTS, None]
    table = pa.table({"id": list(range(len(texts))), "text": texts, "tags": [["a"]] * len(texts)})
    pq.write_table(table, source, row_group_size=2)
    report = run(source, tmp_path / "out")
    found = pq.read_table(tmp_path / "out" / "a.parquet")
    assert found.schema == table.schema
    assert found["text"].to_pylist() == [*CLEAN, None]
    assert found.drop(["text"]).equals(table.drop(["text"]))
    assert report.n_null_documents == 1


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-8-sig"])
def test_other_encodings_become_utf_8(tmp_path: Path, encoding: str) -> None:
    source = tmp_path / "a.txt"
    mark = "" if encoding == "utf-8-sig" else "\ufeff"
    source.write_bytes((mark + "one   two ü\n").encode(encoding))
    run(source, tmp_path / "out")
    found = (tmp_path / "out" / "a.txt").read_text(encoding="utf-8")
    assert found.removeprefix("\ufeff") == "one two ü\n"


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """A process that may write no file above a size stands in for a disk that is full."""
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.txt").write_text("small   file\n", encoding="utf-8")
    (source / "b.txt").write_text("word  " * 50_000, encoding="utf-8")

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    words = ["preprocess", "in", "--steps", "whitespace", "-t", "jeton-general-32k", "-o", "out"]
    done = subprocess.run(
        [sys.executable, "-B", "-m", "jeton", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=limited,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "too large" in done.stderr.lower()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_a_new_folder_takes_its_name_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at any moment, no file of a new folder is there without the others."""
    source = tmp_path / "in"
    source.mkdir()
    for name in ("a.txt", "b.txt"):
        (source / name).write_text("one   two\n", encoding="utf-8")
    seen: list[list[str]] = []
    replace = Path.replace

    def watched(self: Path, target: Path) -> Path:
        out = tmp_path / "out"
        seen.append(sorted(path.name for path in out.iterdir()))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    run(source, tmp_path / "out")
    assert seen == [[]]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.txt", "b.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


def in_and_out(folder: Path, names: str) -> tuple[Path, Path]:
    """Inputs, and an output that has other files and one older result."""
    source, out = folder / "in", folder / "out"
    (out / "deep").mkdir(parents=True)
    (source / "deep").mkdir(parents=True)
    for name in names.split():
        (source / name).write_text(f"{name}   two\n", encoding="utf-8")
    (out / "b.txt").write_text("older\n", encoding="utf-8")
    (out / "deep" / "mine.txt").write_text("mine\n", encoding="utf-8")
    (out / "link").symlink_to("b.txt")
    return source, out


def contents(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in files}


@pytest.mark.parametrize("way", ["exchange", "one by one"])
def test_an_error_between_two_names_gives_the_old_files_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    source, out = in_and_out(tmp_path, "a.txt b.txt c.txt")
    before = contents(out)
    replace = Path.replace

    def failing(self: Path, target: Path) -> Path:
        if Path(target).name == "c.txt":
            raise OSError(28, "No space left on device")
        return replace(self, target)

    def unknown(first: Path, second: Path) -> None:
        raise OSError(38, "Function not implemented")

    def later(first: Path, second: Path) -> None:
        (second / "theirs.txt").write_text("theirs\n", encoding="utf-8")
        exchange_names(first, second)

    monkeypatch.setattr(Path, "replace", failing)
    monkeypatch.setattr(files, "exchange_names", unknown if way == "one by one" else later)
    if way == "one by one":
        with pytest.raises(OSError, match="No space left"):
            run(source, out)
        assert contents(out) == before
        return
    run(source, out)
    new = {name: f"{name} two\n" for name in ("a.txt", "b.txt", "c.txt")}
    # A file that another process wrote meanwhile is there, too.
    assert contents(out) == before | new | {"link": "b.txt two\n", "theirs.txt": "theirs\n"}
    assert (out / "link").readlink() == Path("b.txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


STEPS = {"os.rename", "os.link", "os.mkdir", "os.chmod", "os.remove", "os.rmdir", "shutil.rmtree"}


@pytest.mark.skipif(sys.platform != "linux", reason="the system exchanges names of folders")
@pytest.mark.parametrize("names", ["b.txt", "a.txt b.txt deep/c.txt"])
def test_killed_at_any_step_a_folder_is_whole(tmp_path: Path, names: str) -> None:
    killed = 0
    for step in range(200):
        place = tmp_path / str(step)
        place.mkdir()
        source, out = in_and_out(place, names)
        before = contents(out)
        after = before | {name: f"{name} two\n" for name in names.split()}
        after["link"] = after["b.txt"]
        child = os.fork()
        if not child:
            left = iter(range(step))

            def die(event: str, _: Any, left: Any = left) -> None:
                if (event in STEPS or event == "ctypes.dlsym") and next(left, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(die)
            try:
                run(source, out)
            finally:
                os._exit(0)
        status = os.waitpid(child, 0)[1]
        assert contents(out) in (before, after)
        run(source, out)
        assert contents(out) == after
        if not status:
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
        killed += 1
    assert killed > 6


def test_a_file_that_vanishes_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "a.txt"
    source.write_text("one   two\n", encoding="utf-8")
    targets = files.output_targets

    def vanishing(*words: Any) -> Any:
        found = targets(*words)
        source.unlink()
        return found

    monkeypatch.setattr(files, "output_targets", vanishing)
    with pytest.raises((OSError, jeton.JetonError), match=r"a\.txt"):
        run(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("grows", [False, True])
def test_steps_before_boilerplate_work_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grows: bool
) -> None:
    source = tmp_path / "a.jsonl"
    texts = [f"Text   {n} is   here.\nFooter of the   paper\n" for n in range(8)]
    lines = [json.dumps({"text": text}) + "\n" for text in texts]
    source.write_text("".join(lines), encoding="utf-8")
    calls: list[str] = []
    apply = WhitespaceStep.apply
    end = StepPipeline.observe

    def counted(self: WhitespaceStep, text: str) -> str:
        calls.append(text)
        return apply(self, text)

    def observed(self: StepPipeline, batch: list[str]) -> None:
        end(self, batch)
        if grows:
            # A file that changes between the passes: its new text goes through the steps.
            other = json.dumps({"text": "Other   text.\nFooter of the paper\n"}) + "\n"
            source.write_text("".join([other, *lines[1:]]), encoding="utf-8")

    monkeypatch.setattr(WhitespaceStep, "apply", counted)
    monkeypatch.setattr(StepPipeline, "observe", observed)
    report = jeton.preprocess_files(
        source, tmp_path / "out", steps="whitespace,boilerplate", tokenizer=TOKENIZER
    )
    found = (tmp_path / "out" / "a.jsonl").read_text(encoding="utf-8").splitlines()
    expected = [f"Text {n} is here.\n" for n in range(8)]
    if grows:
        expected[0] = "Other text.\n"
    assert [json.loads(line)["text"] for line in found] == expected
    assert len(calls) == len(texts) + grows
    assert report.steps[1].outcomes == {"lines dropped": 8}
