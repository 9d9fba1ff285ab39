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
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jeton
from jeton import _core
from jeton.cli.app import app
from jeton.corpus import CorpusCare, HoldOut, NearDuplicateSettings  # noqa: F401 - evaluated
from jeton.errors import CorpusError, FormatError, UsageError
from jeton.progress import Progress
from jeton.training import (
    TrainSettings,
    count_pretokens,
    learn_from_counts,
    read_card,
    save_counts,
)
from jeton.training.checkpoints import Checkpoint, merges_path

# A job in the background may have been started with SIGINT ignored; Ctrl-C is what is tested here.
RUN = """
import signal, sys, time
from fractions import Fraction
signal.signal(signal.SIGINT, signal.default_int_handler)
from jeton.corpus import CorpusCare, HoldOut, NearDuplicateSettings
from jeton.training import count_pretokens, save_counts
folder, checkpoint, output, care = sys.argv[1:]
def slowly(progress):
    time.sleep(0.05)
    print(progress.done, flush=True)
corpus = count_pretokens(
    folder, care=eval(care), checkpoint=checkpoint,
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


CARE = {
    "none": "CorpusCare()",
    "copies": "CorpusCare(exact_duplicates=True)",
    # What was seen of documents is not in the checkpoint: it is looked at again.
    "all": "CorpusCare(near_duplicates=NearDuplicateSettings(shingle_words=2), "
    "weights={'03': Fraction(0)}, "
    "holdout=HoldOut(share=0.3, near=NearDuplicateSettings(shingle_words=2)))",
}


@pytest.mark.parametrize(
    ("number", "care"),
    [
        (signal.SIGINT, "copies"),
        (signal.SIGTERM, "none"),
        (signal.SIGKILL, "all"),
        pytest.param(signal.SIGINT, "none", marks=pytest.mark.conformance),
        pytest.param(signal.SIGINT, "all", marks=pytest.mark.conformance),
        pytest.param(signal.SIGKILL, "none", marks=pytest.mark.conformance),
    ],
)
def test_a_process_that_is_stopped_goes_on_to_the_same_file(
    tmp_path: Path, number: int, care: str
) -> None:
    folder = make_files(tmp_path / "in")
    whole = count_pretokens(folder, care=eval(CARE[care]))
    if care == "all":
        left_out = whole.left_out
        assert min(left_out.n_near_duplicates, left_out.n_held_out, left_out.n_weightless) > 0
    save_counts(tmp_path / "whole.counts", whole)
    checkpoint, output = tmp_path / "part", tmp_path / "resumed.counts"
    command = [
        sys.executable, "-c", RUN, str(folder), str(checkpoint), str(output), CARE[care]
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

    def on_progress(progress: Progress) -> None:
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


LEARNED = [
    ("bpe", {}),
    ("superbpe", {"transition_size": 300}),
]


@pytest.mark.parametrize(("algorithm", "options"), LEARNED)
def test_learning_that_is_interrupted_goes_on_to_the_same_tokenizer(
    tmp_path: Path, algorithm: str, options: dict[str, int]
) -> None:
    settings = TrainSettings(algorithm=algorithm, vocab_size=900, options=options)
    corpus = count_pretokens(make_files(tmp_path / "in", 4), settings=settings)
    whole = learn_from_counts(corpus, settings=settings).tokenizer
    checkpoint = tmp_path / "part"

    def stop(progress: Progress) -> None:
        if progress.done > 400:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn_from_counts(corpus, settings=settings, checkpoint=checkpoint, on_progress=stop)
    left = json.loads(merges_path(checkpoint).read_text(encoding="utf-8"))
    assert len(left["merges"]) > 100
    other = TrainSettings(algorithm=algorithm, vocab_size=901, options=options)
    with pytest.raises(UsageError, match="other text or settings"):
        learn_from_counts(corpus, settings=other, checkpoint=checkpoint, resume=True)
    resumed = learn_from_counts(corpus, settings=settings, checkpoint=checkpoint, resume=True)
    assert resumed.tokenizer.fingerprint == whole.fingerprint
    assert not merges_path(checkpoint).exists()
    merges_path(checkpoint).write_text('{"kind": "jeton.merges/1"}', encoding="utf-8")
    with pytest.raises(FormatError, match="not the merges of a run"):
        learn_from_counts(corpus, settings=settings, checkpoint=checkpoint, resume=True)
    with pytest.raises(UsageError, match="resume needs"):
        learn_from_counts(corpus, settings=settings, resume=True)


def test_all_that_was_counted_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_files(tmp_path / "in", 4)
    care = CorpusCare(exact_duplicates=True, weights={"01": Fraction(1, 2)})
    whole = count_pretokens(folder, care=care, checkpoint=tmp_path / "part", keep_checkpoint=True)
    monkeypatch.setattr(
        "jeton.corpus.documents.DocumentStream.__iter__", lambda _: pytest.fail("it was read")
    )
    again = count_pretokens(folder, care=care, checkpoint=tmp_path / "part", resume=True)
    assert again.counts.items() == whole.counts.items()
    assert (again.sources, again.left_out, again.unit) == (
        whole.sources,
        whole.left_out,
        whole.unit,
    )
    assert not (tmp_path / "part").exists()


@pytest.mark.parametrize("stage", ["counting", "merging"])
def test_the_command_says_what_it_kept_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    folder = make_files(tmp_path / "in", 4)
    part = tmp_path / "part"
    words = ["train", str(folder), "--vocab-size", "900", "--checkpoint", str(part)]
    assert CliRunner().invoke(app, [*words[:4], "-o", str(tmp_path / "whole")]).exit_code == 0

    def interrupt(*_: object) -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return False

    with monkeypatch.context() as patch:
        if stage == "counting":
            patch.setattr(Checkpoint, "is_due", interrupt)
        else:
            patch.setattr("jeton.training.algorithms.bpe.train_bpe_with", _interrupted)
        found = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "t")])
    assert found.exit_code == 130
    assert f"jeton: interrupted: {part}" in found.stderr
    assert "hint: the same command with --resume goes on from it" in found.stderr
    assert part.exists()
    assert merges_path(part).exists() == (stage == "merging")
    assert not (tmp_path / "t").exists()
    found = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "t"), "--resume"])
    assert found.exit_code == 0, found.output
    trained = (tmp_path / "t" / "tokenizer.json").read_bytes()
    assert trained == (tmp_path / "whole" / "tokenizer.json").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "t", "whole"]


def _interrupted(counts: _core.PretokenCounts, **arguments: Any) -> _core.Tokenizer:
    def stop(done: int, total: int) -> None:
        if done > 400:
            raise KeyboardInterrupt

    return train_bpe_with(counts, **{**arguments, "on_progress": stop})


train_bpe_with = _core.train_bpe_with


@pytest.mark.parametrize("stage", ["count", "merge"])
def test_a_command_that_holds_out_goes_on_to_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    make_files(tmp_path / "in", 4)
    monkeypatch.chdir(tmp_path)
    words = ["train", "in", "--vocab-size", "900", "--hold-out", "0.3", "--near-duplicates"]

    def command(name: str) -> list[str]:
        return [*words, "--held-out", f"{name}.jsonl", "-o", name, "--checkpoint", f"{name}.part"]

    assert CliRunner().invoke(app, command("whole")).exit_code == 0
    n_calls = 0

    def stop(progress: Progress) -> None:
        nonlocal n_calls
        n_calls += progress.stage == stage
        if n_calls == 3:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    with monkeypatch.context() as patch:
        patch.setattr("jeton.cli.train.progress_bar", lambda **_: nullcontext(stop))
        stopped = CliRunner().invoke(app, command("again"))
    assert stopped.exit_code == 130
    assert "again.part" in stopped.stderr
    assert "--resume goes on from it" in stopped.stderr
    assert not Path("again.jsonl").exists()
    assert not Path("again").exists()
    assert CliRunner().invoke(app, [*command("again"), "--resume"]).exit_code == 0
    assert Path("again.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    cards = [read_card(f"{name}/training_card.json") for name in ("again", "whole")]
    assert cards[0].fingerprint == cards[1].fingerprint
    assert cards[0].heldout == cards[1].heldout
    assert sum(held.n_documents for held in cards[0].heldout) == len(
        Path("whole.jsonl").read_text(encoding="utf-8").splitlines()
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "again", "again.jsonl", "in", "whole", "whole.jsonl"
    ]  # fmt: skip


def test_records_that_are_held_out_keep_their_line_and_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"r{i}", "text": f"the number {i * 7} of {i * i}"} for i in range(200)]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    Path("b.txt").write_text("\n".join(row["text"] + "." for row in rows), encoding="utf-8")
    words = ["train", "a.jsonl", "b.txt", "--documents", "line", "--hold-out", "0.3"]
    result = CliRunner().invoke(
        app, [*words, "--held-out", "h.jsonl", "--vocab-size", "270", "-o", "t", "-q"]
    )
    assert result.exit_code == 0
    assert "left out" not in result.stderr
    held = [json.loads(line) for line in Path("h.jsonl").read_text(encoding="utf-8").splitlines()]
    records = [record for record in held if record["source"] == "a.jsonl"]
    assert len(records) > 20
    for record in records:
        row = rows[record["line"] - 1]
        assert record == {**row, "source": "a.jsonl", "line": record["line"]}
    lines = [record for record in held if record["source"] == "b.txt"]
    assert len(lines) > 20
    for record in lines:
        assert set(record) == {"text", "source", "line"}
        assert record["text"] == f"{rows[record['line'] - 1]['text']}."
    found = {item.source: item for item in read_card("t/training_card.json").heldout}
    tokenizer = jeton.load("t")
    for source, texts in (("a.jsonl", records), ("b.txt", lines)):
        assert found[source].n_documents == len(texts)
        assert found[source].n_bytes == sum(len(record["text"]) for record in texts)
        assert found[source].n_tokens == sum(tokenizer.count(record["text"]) for record in texts)
