"""A cluster gives the bytes of one machine, also when a worker is killed."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

import jeton
from jeton.cli.app import app
from jeton.cluster import RayTasks, count_pretokens_on_ray, counting, pieces_on_ray, tokenizing
from jeton.cluster.sessions import RaySession
from jeton.cluster.tokenizing import pieces_of_part, write_part
from jeton.datasets import units
from jeton.datasets.formats.base import ShardFile
from jeton.datasets.working import TokenizeJob
from jeton.errors import ClusterError, MissingExtraError, RecordError, UsageError
from jeton.training import TrainSettings, load_counts, save_counts, train_from_counts


@pytest.fixture(autouse=True)
def _small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "UNIT_BYTES", 4000)


def a_corpus(folder: Path, n: int = 600) -> Path:
    rng = random.Random(4)
    path = folder / "a.jsonl"
    texts = [" ".join(rng.choices(["boat", "lake", "東京", "12"], k=30)) for _ in range(n)]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in ["", *texts]))
    return path


def run(path: Any, folder: Path, on: Any, **options: Any) -> Any:
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
        jobs.append(job)
        for number in range(unit, len(job.units)):
            row = write_part(job, number, str(tmp_path))
            assert row["n_documents"] > 0
            for piece in pieces_of_part(tmp_path / f"{number:08d}.part", 0):
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


@dataclass
class DiesOnce:
    """A job whose worker is killed in the middle of its third unit, the first time."""

    job: TokenizeJob
    notes: Path

    @property
    def states(self) -> Any:
        return self.job.states

    @property
    def files(self) -> Any:
        return self.job.files

    @property
    def units(self) -> Any:
        return self.job.units

    def pieces(self, number: int, **options: Any) -> Iterator[Any]:
        with (self.notes / "begun").open("a") as stream:
            stream.write(f"{number} {os.getpid()}\n")
        for piece in self.job.pieces(number, **options):
            yield piece
            if number == 2 and not (self.notes / "killed").exists():
                (self.notes / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("cluster")
def test_a_cluster_gives_the_bytes_of_one_machine_though_a_worker_is_killed(tmp_path: Path) -> None:
    path = a_corpus(tmp_path, 600)
    run(path, tmp_path / "local", "local")
    notes = tmp_path / "notes"
    notes.mkdir()
    # The workers cannot import tests.
    __import__("ray").cloudpickle.register_pickle_by_value(sys.modules[__name__])

    def on_dying_workers(job: Any, *arguments: Any) -> Any:
        return pieces_on_ray(cast(TokenizeJob, DiesOnce(job, notes)), *arguments)

    run(path, tmp_path / "ray", on_dying_workers)
    begun = [line.split() for line in (notes / "begun").read_text().splitlines()]
    assert (notes / "killed").exists()
    assert [unit for unit, _ in begun].count("2") == 2
    assert len({process for _, process in begun}) >= 2
    assert str(os.getpid()) not in {process for _, process in begun}
    assert contents(tmp_path / "local") == contents(tmp_path / "ray")


class _Here:
    """A session whose tasks run in this process, one after the other."""

    n_slots = 2

    def __init__(self, shared: Any) -> None:
        self.shared = shared
        self.done: dict[int, Any] = {}

    def begin(self, function: Any, *arguments: Any) -> int:
        number = len(self.done)
        try:
            self.done[number] = function(self.shared, *pickle.loads(pickle.dumps(arguments)))
        except Exception as error:
            self.done[number] = error
        return number

    def wait(self, references: Any, *, seconds: float | None = None) -> list[int]:
        return list(references)

    def result(self, reference: int) -> Any:
        found = self.done[reference]
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def opened(_: Any, shared: Any, **__: Any) -> Iterator[_Here]:
        yield _Here(shared)

    monkeypatch.setattr(RaySession, "open", opened)


FORMATS = ["megatron", "numpy", "parquet", "arrow", "mds", "litdata", "datatrove", "nanochat"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("form", FORMATS)
def test_shards_that_tasks_write_are_those_of_one_machine(tmp_path: Path, form: Any) -> None:
    path = a_corpus(tmp_path, 250)
    lines = path.read_text().splitlines(keepends=True)
    # Empty documents and nulls stand between the others, and at both ends.
    lines[100:100] = ['{"text": ""}\n', '{"text": null}\n']
    path.write_text("".join([*lines, '{"text": ""}\n']))
    other = tmp_path / "b.txt"
    other.write_text("One more boat.")
    for folder, on in ((tmp_path / "local", "local"), (tmp_path / "tasks", pieces_on_ray)):
        made = run([path, other], folder, on, format=form)
        assert len(made.shards) > 1
    assert contents(tmp_path / "local") == contents(tmp_path / "tasks")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("fails_at", [0, 2, 5])
def test_a_shard_that_cannot_be_written_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    path = a_corpus(tmp_path)
    run(path, tmp_path / "local", "local")
    write = tokenizing.write_shard

    def full(job: Any, cut: Any, planned: Any, *rest: Any) -> Any:
        if planned.record.number == fails_at:
            raise OSError(28, "No space left on device")
        return write(job, cut, planned, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(tokenizing, "write_shard", full)
        with pytest.raises(OSError, match="No space left"):
            run(path, tmp_path / "o", pieces_on_ray)
    made = run(path, tmp_path / "o", pieces_on_ray, resume=True)
    assert made.n_resumed_shards == fails_at
    assert contents(tmp_path / "o") == contents(tmp_path / "local")


@pytest.mark.usefixtures("here")
def test_a_worker_that_is_killed_in_a_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = a_corpus(tmp_path)
    run(path, tmp_path / "local", "local")
    write = tokenizing.write_shard
    n_killed = 0

    def written_again(*arguments: Any) -> Any:
        nonlocal n_killed
        child = os.fork()
        if not child:
            close = ShardFile.close

            def dying(file: ShardFile) -> Any:
                # The first file of the shard has its name, in the folder of the task.
                close(file)
                os.kill(os.getpid(), signal.SIGKILL)

            monkeypatch.setattr(ShardFile, "close", dying)
            write(*arguments)
            os._exit(0)
        n_killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        return write(*arguments)

    monkeypatch.setattr(tokenizing, "write_shard", written_again)
    made = run(path, tmp_path / "tasks", pieces_on_ray)
    assert n_killed == len(made.shards) > 3
    assert contents(tmp_path / "local") == contents(tmp_path / "tasks")


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("cluster")
def test_errors_of_tasks_are_those_of_one_machine(tmp_path: Path) -> None:
    path = a_corpus(tmp_path, 100)
    path.write_text(path.read_text() + "{bad\n")
    with pytest.raises(RecordError, match="line 102"):
        run(path, tmp_path / "bad", pieces_on_ray)
    left = [json.loads(line) for line in path.read_text().splitlines()[:-1]]
    path.write_text("".join(json.dumps(record) + "\n" for record in left))
    with pytest.raises(UsageError, match="changed"):
        run(path, tmp_path / "bad", pieces_on_ray, resume=True)


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("cluster")
def test_counting_on_a_cluster_and_training_from_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "MERGED_FILES", 3)
    path = a_corpus(tmp_path)
    local = jeton.count_pretokens([path])
    parts = count_pretokens_on_ray([path], folder=tmp_path / "parts", workers=2)
    save_counts(tmp_path / "local", local)
    save_counts(tmp_path / "cluster", parts)
    assert (tmp_path / "cluster").read_bytes() == (tmp_path / "local").read_bytes()
    settings = TrainSettings(vocab_size=264)
    counted = train_from_counts(load_counts([tmp_path / "cluster"]), settings=settings)
    assert counted.fingerprint == train_from_counts(local, settings=settings).fingerprint


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("cluster")
def test_a_run_that_stopped_goes_on_on_the_cluster(tmp_path: Path) -> None:
    path = a_corpus(tmp_path)
    run(path, tmp_path / "local", "local")

    def stopping(job: Any, *arguments: Any) -> Any:
        for number, piece in pieces_on_ray(job, *arguments):
            if number > len(job.units) // 2:
                raise MemoryError("the power went out")
            yield number, piece

    with pytest.raises(MemoryError):
        run(path, tmp_path / "o", stopping)
    made = run(path, tmp_path / "o", pieces_on_ray, resume=True)
    assert made.n_resumed_shards > 0
    assert contents(tmp_path / "o") == contents(tmp_path / "local")


@pytest.mark.usefixtures("cluster")
def test_a_cluster_has_only_files_that_all_nodes_share(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="standard input"):
        run(iter(["a"]), tmp_path / "x", pieces_on_ray)


@pytest.mark.usefixtures("cluster")
def test_a_task_that_dies_again_and_again_is_an_error(tmp_path: Path) -> None:
    def die(_shared: None) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with (
        RaySession.open(RayTasks(max_retries=0), None, workers=None, what="this") as session,
        pytest.raises(ClusterError, match=r"(?s)died 1 times.*hint: .*--resume"),
    ):
        session.result(session.begin(die))


def test_demands_are_for_a_cluster(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["tokenize", "x", "-t", "y", "-o", "z", "--task-cpus", "2"])
    assert done.exit_code == 2
    assert "--task-cpus is for tasks on a cluster" in done.output


@pytest.mark.parametrize(
    ("demand", "message"),
    [({"num_cpus": 0}, "num_cpus"), ({"memory_bytes": 0}, "memory"), ({"max_retries": -2}, "-2")],
)
def test_demands_that_mean_nothing(demand: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RayTasks(**demand)
