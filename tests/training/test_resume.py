"""A run that is stopped, however, and taken up again gives what one that was not stopped gives."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jeton.corpus import CorpusCare
from jeton.errors import CorpusError, UsageError
from jeton.training import TrainProgress, count_pretokens, save_counts

# A job in the background may have been started with SIGINT ignored; Ctrl-C is what is tested here.
RUN = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from jeton.corpus import CorpusCare
from jeton.training import count_pretokens, save_counts
folder, checkpoint, output, duplicates = sys.argv[1:]
def slowly(progress):
    time.sleep(0.05)
    print(progress.done, flush=True)
corpus = count_pretokens(
    folder, care=CorpusCare(exact_duplicates=duplicates == "1"), checkpoint=checkpoint,
    checkpoint_seconds=0.01, resume=True, on_progress=slowly,
)
save_counts(output, corpus)
"""


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def make_files(folder: Path, n_files: int = 12) -> Path:
    folder.mkdir()
    draw = random.Random(5)
    for i in range(n_files):
        lines = [f"document {draw.getrandbits(10)} of {draw.getrandbits(20):x}" for _ in range(200)]
        records = "\n".join(json.dumps({"text": line}) for line in lines)
        (folder / f"{i:02}.jsonl").write_text(records, encoding="utf-8")
    return folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("duplicates", [False, True])
def test_a_process_that_is_stopped_goes_on_to_the_same_file(
    tmp_path: Path, number: int, *, duplicates: bool
) -> None:
    folder = make_files(tmp_path / "in")
    whole = count_pretokens(folder, care=CorpusCare(exact_duplicates=duplicates))
    save_counts(tmp_path / "whole.counts", whole)
    checkpoint, output = tmp_path / "part", tmp_path / "resumed.counts"
    command = [
        sys.executable, "-c", RUN, str(folder), str(checkpoint), str(output), str(int(duplicates))
    ]  # fmt: skip
    stopped = 0
    for n_lines in (3, 6):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
            assert run.stdout is not None
            for _ in range(n_lines):
                run.stdout.readline()
            run.send_signal(number)
            try:
                stopped += run.wait(timeout=60) != 0
            finally:
                run.kill()
        assert checkpoint.exists()
        assert not output.exists()
    assert stopped == 2
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60)
    assert output.read_bytes() == (tmp_path / "whole.counts").read_bytes()
    assert not checkpoint.exists()
    names = {path.name for path in tmp_path.iterdir()}
    left = {"in", "whole.counts", "resumed.counts"}
    if number == signal.SIGKILL:
        left |= {name for name in names if name.startswith(".jeton-")}
    assert names == left


def stop_at(n_calls: int) -> object:
    calls = 0

    def on_progress(progress: TrainProgress) -> None:
        nonlocal calls
        calls += 1
        if calls == n_calls:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    return on_progress


def stopped_run(folder: Path, checkpoint: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        count_pretokens(folder, checkpoint=checkpoint, on_progress=stop_at(3))  # type: ignore[arg-type]
    assert checkpoint.exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_does_not_fit_the_checkpoint_is_refused(tmp_path: Path) -> None:
    folder = make_files(tmp_path / "in", 4)
    checkpoint = tmp_path / "part"
    stopped_run(folder, checkpoint)
    with pytest.raises(UsageError, match="other options"):
        count_pretokens(folder, checkpoint=checkpoint, resume=True, field="other")
    with pytest.raises(UsageError, match="other inputs"):
        count_pretokens(folder / "00.jsonl", checkpoint=checkpoint, resume=True)
    with (folder / "02.jsonl").open("a", encoding="utf-8") as file:
        file.write('\n{"text": "more"}')
    with pytest.raises(CorpusError, match="has changed since the checkpoint"):
        count_pretokens(folder, checkpoint=checkpoint, resume=True)
    save_counts(checkpoint, count_pretokens(folder))
    with pytest.raises(UsageError, match="no checkpoint"):
        count_pretokens(folder, checkpoint=checkpoint, resume=True)
    with pytest.raises(UsageError, match="resume needs"):
        count_pretokens(folder, resume=True)
    with pytest.raises(UsageError, match="only once"):
        count_pretokens(iter(["a"]), checkpoint=checkpoint)


def test_a_run_resumed_in_little_memory_is_the_same(tmp_path: Path) -> None:
    folder = make_files(tmp_path / "in", 4)
    checkpoint = tmp_path / "part"
    stopped_run(folder, checkpoint)
    resumed = count_pretokens(
        folder, checkpoint=checkpoint, resume=True, max_memory=16 << 20, temp_dir=tmp_path
    )
    whole = count_pretokens(folder)
    assert resumed.counts.items() == whole.counts.items()
    assert resumed.counts.n_documents == whole.counts.n_documents
    assert resumed.sources == whole.sources
