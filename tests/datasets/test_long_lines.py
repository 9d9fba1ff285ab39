"""A line of 500 MB: a record, a line of text and a file, within the memory that the guides name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.conformance

N_BYTES = 500_000_000
TOKENIZER = "jeton-general-32k"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    text = " ".join(f"the boat {number} left at noon," for number in range(1_000_000))
    text = (text * (1 + N_BYTES // len(text)))[:N_BYTES]
    (folder / "a.txt").write_text(text + "\n")
    with (folder / "a.jsonl").open("w") as stream:
        for one in ("before", text, "behind"):
            stream.write(json.dumps({"text": one}) + "\n")
    return folder


def peak_bytes(*arguments: str) -> int:
    """Run a command; return the largest memory that its process had."""
    process = subprocess.Popen(
        [sys.executable, "-m", "jeton", *arguments], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.parametrize(
    ("name", "documents", "times"),
    [("a.jsonl", "file", 6), ("a.txt", "file", 4), ("a.txt", "line", 6)],
)
def test_tokenize(inputs: Path, tmp_path: Path, name: str, documents: str, times: int) -> None:
    command = ["tokenize", str(inputs / name), "-t", TOKENIZER, "--documents", documents]
    peak = peak_bytes(*command, "-o", str(tmp_path / "o"), "--workers", "2", "-q")
    made = json.loads((tmp_path / "o" / "manifest.json").read_text())
    assert sum(shard["n_documents"] for shard in made["shards"]) == (3 if "json" in name else 1)
    assert peak < times * N_BYTES


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt"])
def test_chunk(inputs: Path, tmp_path: Path, name: str) -> None:
    chunks = tmp_path / "c.jsonl"
    command = ["chunk", str(inputs / name), "-t", TOKENIZER, "--max-tokens", "512"]
    peak = peak_bytes(*command, "-o", str(chunks))
    n_bytes = 0
    with chunks.open() as stream:
        for line in stream:
            chunk = json.loads(line)
            assert chunk["n_tokens"] <= 512
            n_bytes += len(chunk["text"])
    assert n_bytes >= N_BYTES
    assert peak < 8 * N_BYTES
