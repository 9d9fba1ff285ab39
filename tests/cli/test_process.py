"""Behaviour that only a process shows: pipes, signals, full disks, and imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from jeton.formats import save_file
from tests.formats import small

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
FULL = Path("/dev/full")


def error(result: subprocess.CompletedProcess[bytes]) -> str:
    assert result.returncode == 2, result
    text = result.stderr.decode()
    assert text.startswith("jeton: error: ")
    assert "Traceback" not in text
    assert "Exception ignored" not in text
    return text


def test_standard_input_and_pipes(process: Process) -> None:
    text = "hello world\r\n naïve \x00 日本".encode()
    ids = process("encode", "-t", "small", "-", stdin=text)
    assert ids.returncode == 0
    assert process("decode", "-t", "small", "-", stdin=ids.stdout).stdout == text
    assert process("count", "-t", "small", stdin=b"hello world").stdout == b"2 -\n"
    jsonl = b'{"text": "hello"}\n'
    counted = process("count", "-t", "small", "-", "--format", "jsonl", stdin=jsonl)
    assert counted.stdout == b"1 -\n"


def test_an_audit_of_standard_input(process: Process) -> None:
    result = process("audit", "-", "-t", "small", "--json", "-", stdin=b"hello world " * 50)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["corpus"]["n_documents"] == 1


def test_errors_go_to_standard_error_only(process: Process) -> None:
    result = process("count", "-t", "small", "nothing.txt")
    assert "nothing.txt" in error(result)
    assert result.stdout == b""


def test_bytes_in_an_argument_that_are_not_utf8(process: Process) -> None:
    assert "--text" in error(process("encode", "-t", "small", "--text", b"a\xffb"))
    Path(os.fsdecode(b"a\xff.txt")).write_text("hello")
    assert "not UTF-8" in error(process("count", "-t", "small", b"a\xff.txt"))


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
class TestFullDisk:
    def test_standard_output(self, environment: dict[str, str]) -> None:
        with FULL.open("wb") as full:
            result = subprocess.run(
                [sys.executable, "-m", "jeton", "encode", "-t", "small", "--text", "hello"],
                stdout=full,
                stderr=subprocess.PIPE,
                env=environment,
                timeout=60,
                check=False,
            )
        assert "no space left on device" in error(result)

    @pytest.mark.parametrize("option", ["--json", "--html", "--markdown"])
    def test_a_report(self, process: Process, option: str) -> None:
        Path("a.txt").write_text("hello world")
        result = process("audit", "a.txt", "-t", "small", "--quiet", option, "/dev/full")
        assert "/dev/full: no space left on device" in error(result)


def test_a_folder_that_cannot_be_written(process: Process) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    Path("closed").mkdir(mode=0o500)
    Path("a.txt").write_text("hello world")
    result = process("audit", "a.txt", "-t", "small", "--json", "closed/r.json")
    assert "closed/r.json" in error(result)


@pytest.mark.parametrize(
    "words",
    [
        ["encode", "-t", "small", "a.txt", "--documents", "line"],
        ["show", "-t", "small", "a.txt"],
        ["catalog", "prices", "--json"],
        ["vocab", "list"],
        ["audit", "a.txt", "-t", "small"],
    ],
    ids=lambda words: words[0],
)
def test_a_reader_that_leaves_early_is_no_error(
    environment: dict[str, str], words: list[str]
) -> None:
    Path("a.txt").write_text("hello world\n" * 20_000)
    process = subprocess.Popen(
        [sys.executable, "-m", "jeton", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    # At once: what is written is written into a pipe that nobody reads.
    process.stdout.close()
    assert b"rror" not in process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 0


@pytest.mark.parametrize(
    "words",
    [
        ["audit", "-", "-t", "small", "--json", "out.json"],
        ["train", "-", "--vocab-size", "5000", "-o", "out.json"],
        ["count", "-t", "small", "-"],
        ["decode", "-t", "small", "-"],
    ],
    ids=lambda words: words[0],
)
def test_ctrl_c_while_waiting_for_input(words: list[str], environment: dict[str, str]) -> None:
    """The process reads from a pipe that never ends: it is at work whenever the signal comes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "jeton", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    feed = b"1 2 3\n" if words[0] == "decode" else b"hello world, and hello again\n" * 1000
    # More than a pipe holds: when this returns, the process has started to read.
    for _ in range(200 if words[0] != "decode" else 40_000):
        process.stdin.write(feed)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert process.stderr.read().decode() == "jeton: interrupted\n"
    for stream in (process.stdin, process.stderr):
        with suppress(BrokenPipeError):
            stream.close()
    assert list(Path().iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_in_the_middle_of_the_work(environment: dict[str, str], tmp_path: Path) -> None:
    """Training on text without repetition is busy in the core for long."""
    import random

    rng = random.Random(7)
    corpus = tmp_path / "corpus.txt"
    small_letters = bytes(ord("a") + byte % 26 for byte in range(256))
    letters = rng.randbytes(40 * 400_000).translate(small_letters).decode()
    corpus.write_text(" ".join(letters[i : i + 40] for i in range(0, len(letters), 40)))
    process = subprocess.Popen(
        [sys.executable, "-m", "jeton", "train", str(corpus), "--vocab-size", "500000", "-o", "x"],
        stderr=subprocess.PIPE,
        env=environment,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(3)
    process.send_signal(signal.SIGINT)
    _, words_said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert words_said.decode() == "jeton: interrupted\n"
    assert list(Path().iterdir()) == []


def test_damaged_vocabulary(process: Process) -> None:
    save_file(small.tokenizer(), "x.json.zst")
    data = Path("x.json.zst").read_bytes()
    Path("x.json.zst").write_bytes(data[:100] + b"\0\0\0\0" + data[104:])
    assert "x.json.zst" in error(process("info", "./x.json.zst"))


HEAVY = {"jinja2", "pyarrow", "genai_prices", "rich", "urllib.request"}


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import jeton", HEAVY | {"click", "jeton.auditing", "jeton.registry", "jeton.cli"}),
        ("import jeton.cli.app as a; a.app.main(['--help'], standalone_mode=False)",
         HEAVY | {"jeton.auditing", "jeton.registry", "jeton.cli.audit"}),
        ("import jeton.cli.app as a; a.app.main(['count', '--help'], standalone_mode=False)",
         HEAVY | {"jeton.auditing", "jeton.report"}),
    ],
)  # fmt: skip
def test_nothing_heavy_is_imported_before_it_is_used(
    environment: dict[str, str], code: str, absent: set[str]
) -> None:
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print('\\n' + ' '.join(sys.modules))"],
        capture_output=True,
        env=environment,
        timeout=60,
        check=True,
    )
    imported = set(result.stdout.decode().splitlines()[-1].split())
    assert "jeton" in imported
    assert not imported & absent
