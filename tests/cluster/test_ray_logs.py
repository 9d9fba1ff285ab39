"""Logs and tokens counted on a cluster of Ray, also when a worker is killed."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jeton.auditing import Audit
from jeton.auditing.log_counting import LogJob
from jeton.cli.app import app
from jeton.cluster import count_logs_on_ray
from jeton.corpus.requests import shards
from jeton.report import to_json


@dataclass(frozen=True)
class DiesOnce:
    """A job whose worker is killed in its second part, the first time."""

    job: LogJob
    notes: Path

    @property
    def parts(self) -> Any:
        return self.job.parts

    @property
    def setup(self) -> Any:
        return self.job.setup

    @property
    def skipped(self) -> Any:
        return self.job.skipped

    def count(self, number: int, *arguments: Any, **options: Any) -> Any:
        with (self.notes / "begun").open("a") as stream:
            stream.write(f"{number} {os.getpid()}\n")
        if number == 1 and not (self.notes / "killed").exists():
            (self.notes / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.job.count(number, *arguments, **options)


def a_log(folder: Path) -> Path:
    """Streamed answers in blocks, some of them on both sides of where the log is cut."""
    path = folder / "log.jsonl"
    records = [
        {
            "id": f"chatcmpl-{n // 2}",
            "object": "chat.completion",
            "model": "gpt-4o",
            "created": 1_790_000_000 + n,
            "choices": [{"message": {"role": "assistant", "content": f"statement {n}"}}],
            "usage": {"prompt_tokens": 30 + n // 2, "completion_tokens": 5 + n % 2},
        }
        for n in range(300)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("cluster")
def test_the_report_is_that_of_one_machine_though_a_worker_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = a_log(tmp_path)
    monkeypatch.setattr(shards, "SHARD_BYTES", path.stat().st_size // 4)
    audit = Audit(tokenizers=["jeton-general-32k"], logs=True, quality=False)
    whole = to_json(audit.report(audit.count(path)))
    notes = tmp_path / "notes"
    notes.mkdir()
    # The workers cannot import tests.
    __import__("ray").cloudpickle.register_pickle_by_value(sys.modules[__name__])
    real = audit.log_job(path)
    monkeypatch.setattr(audit, "log_job", lambda _: DiesOnce(real, notes))
    parts = to_json(audit.report(count_logs_on_ray(audit, path)))
    begun = [line.split() for line in (notes / "begun").read_text().splitlines()]
    assert (notes / "killed").exists()
    assert len({process for _, process in begun}) >= 2
    assert str(os.getpid()) not in {process for _, process in begun}
    assert json.loads(whole)["requests"]["n_requests"] == 150
    assert parts == whole


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("cluster")
def test_the_commands_write_what_one_machine_writes(tmp_path: Path) -> None:
    path = str(a_log(tmp_path))
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_bytes(b"the statement \xff and the lake\n" * 9)
    (texts / "b.jsonl").write_text(json.dumps({"text": "the lake"}) + "\n")
    for arguments in (
        ["audit", path, "--logs", "-t", "jeton-general-32k", "--no-quality", "--json", "-"],
        ["count", str(texts), "-t", "jeton-general-32k", "--json"],
    ):
        here, there = (
            CliRunner().invoke(app, [*arguments, "--on", place]) for place in ("local", "ray")
        )
        assert here.exit_code == there.exit_code == 0, (here.output, there.output)
        assert here.stdout == there.stdout
        assert here.stderr == there.stderr


def test_what_a_cluster_cannot_count_is_said(tmp_path: Path) -> None:
    path = str(a_log(tmp_path))
    for arguments, words in (
        (["audit", path, "-t", "jeton-general-32k", "--on", "ray"], "only request logs"),
        (["audit", path, "--logs", "--task-cpus", "2"], "--task-cpus is for tasks on a cluster"),
        (["count", "-", "-t", "jeton-general-32k", "--on", "ray"], "no standard input"),
    ):
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 2
        assert words in done.output


@pytest.mark.usefixtures("cluster")
def test_scan_on_ray(tmp_path: Path) -> None:
    for number in range(4):
        text = "plain\n" * number + "<|im_end|>" * number
        (tmp_path / f"{number}.txt").write_text(text + "end", encoding="utf-8")
    local = CliRunner().invoke(app, ["guard", "scan", str(tmp_path), "--json"])
    ray = CliRunner().invoke(app, ["guard", "scan", str(tmp_path), "--json", "--on", "ray"])
    assert (local.exit_code, ray.exit_code) == (1, 1)
    assert json.loads(ray.stdout) == json.loads(local.stdout)
    assert json.loads(ray.stdout)["n_found_documents"] == 3
