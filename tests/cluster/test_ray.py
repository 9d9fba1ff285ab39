"""A cluster gives the bytes of one machine, also when a worker is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.cluster import pieces_on_ray
from jeton.cluster.tokenizing import write_part
from jeton.datasets import units
from jeton.datasets.working import TokenizeJob
from jeton.errors import MissingExtraError, RecordError, UsageError


@pytest.fixture(autouse=True)
def _small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "UNIT_BYTES", 4000)


def a_corpus(folder: Path, n: int = 600) -> Path:
    rng = random.Random(4)
    path = folder / "a.jsonl"
    texts = [" ".join(rng.choices(["boat", "lake", "東京", "12"], k=30)) for _ in range(n)]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in ["", *texts]))
    return path


def run(path: Path, folder: Path, on: Any, **options: Any) -> Any:
    return jeton.tokenize_dataset(
        path,
        tokenizer="jeton-general-32k",
        output=folder,
        append_eos=True,
        shard_tokens=5000,
        workers=2,
        on=on,
        **options,
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_the_task_alone_writes_a_part_once(tmp_path: Path) -> None:
    path = a_corpus(tmp_path)
    jobs: list[TokenizeJob] = []

    def in_this_process(job: Any, unit: int, document: int, workers: int, folder: Path) -> Any:
        from jeton.cluster.tokenizing import _pieces_of

        jobs.append(job)
        for number in range(unit, len(job.units)):
            row = write_part(job, number, str(tmp_path))
            assert row["n_documents"] > 0
            for piece in _pieces_of(tmp_path / f"{number:08d}.part", 0):
                yield number, piece

    run(path, tmp_path / "local", "local")
    run(path, tmp_path / "parts", in_this_process)
    assert contents(tmp_path / "local") == contents(tmp_path / "parts")
    assert len(jobs[0].units) > 10
    assert write_part(jobs[0], 3, str(tmp_path))["was_there"] == 1


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"jeton\[ray\]"):
        run(a_corpus(tmp_path, 3), tmp_path / "o", pieces_on_ray)


def workers_of_ray() -> list[int]:
    """Workers of the cluster that this process started; nobody else's."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                is_worker = (entry / "cmdline").read_bytes().startswith(b"ray::write_part")
                is_ours = is_worker and parent(parent(int(entry.name))) == os.getpid()
            except OSError:
                continue
            if is_ours:
                found.append(int(entry.name))
    return found


def parent(process: int) -> int:
    """The process that started another."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.cluster
def test_a_cluster_gives_the_bytes_of_one_machine(tmp_path: Path) -> None:
    path = a_corpus(tmp_path, 4000)
    run(path, tmp_path / "local", "local")
    killed: list[int] = []
    is_done = threading.Event()

    def kill() -> None:
        deadline = time.monotonic() + 300
        while not is_done.is_set() and len(killed) < 2 and time.monotonic() < deadline:
            for process in workers_of_ray()[:1]:
                os.kill(process, signal.SIGKILL)
                killed.append(process)
            time.sleep(0.001)

    killer = threading.Thread(target=kill)
    killer.start()
    run(path, tmp_path / "ray", pieces_on_ray)
    is_done.set()
    killer.join()
    assert killed
    assert contents(tmp_path / "local") == contents(tmp_path / "ray")
    path.write_text(path.read_text() + "{bad\n")
    with pytest.raises(RecordError, match="line 4002"):
        run(path, tmp_path / "bad", pieces_on_ray)
    with pytest.raises(UsageError, match="standard input"):
        run(iter(["a"]), tmp_path / "x", pieces_on_ray)  # type: ignore[arg-type]
