"""The benchmark harness: its arithmetic, its order, its checks. Nothing is timed here."""

from __future__ import annotations

import itertools
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benches import record, texts
from benches.harness import Entry, Row, alternate, compare, rank
from benches.isolated import peak_memory_bytes, run_task, start_peak_memory
from benches.peers.base import Flat
from benches.train import agreement


class Clock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_rounds_alternate_and_turn() -> None:
    order: list[str] = []
    entries = [Entry(name, run=partial(order.append, name), check=lambda _: None) for name in "abc"]
    times = alternate(entries, rounds=3)
    assert "".join(order) == "abcbcacab"
    assert {name: len(seconds) for name, seconds in times.items()} == {"a": 3, "b": 3, "c": 3}


def test_medians_ratios_and_those_that_are_wrong_or_fail() -> None:
    clock = Clock()

    def taking(*seconds: float) -> Entry:
        durations = itertools.chain([0.0], seconds)  # the first run is the untimed check

        def run() -> None:
            clock.now += next(durations)

        return Entry(f"takes {seconds[0]}", run=run, check=lambda _: None)

    def fail() -> None:
        raise RuntimeError("out of tokens\nand more")

    fast, slow = taking(1.0, 9.0, 2.0), taking(4.0, 4.0, 4.0)
    wrong = Entry("wrong", run=lambda: None, check=lambda _: "3 documents differ")
    broken = Entry("broken", run=fail, check=lambda _: None)
    rows = compare([slow, wrong, broken, fast], n_bytes=8_000_000, rounds=3, clock=clock)
    assert [row.name for row in rows] == ["takes 1.0", "takes 4.0", "wrong", "broken"]
    assert rows[0].median_value == 2.0
    assert rows[0].megabytes_per_second == 4.0
    assert rows[0].ratio_to_best_peer == 2.0
    assert rows[1].ratio_to_best_peer == 0.5
    assert rows[2].wrong == "3 documents differ"
    assert rows[2].ratio_to_best_peer is None
    assert rows[3].failed == "RuntimeError: out of tokens"
    assert rows[3].values == ()


def test_a_wrong_peer_is_not_the_best_peer() -> None:
    mine = Row("jeton", (2.0,), None, None, 1)
    cheat = Row("cheat", (0.1,), "all differ", None, 1)
    (first, last) = rank([cheat, mine])
    assert (first.name, last.name) == ("jeton", "cheat")
    assert first.ratio_to_best_peer is None


def test_flat_compares_rows() -> None:
    reference = Flat.from_rows([[1, 2], [], [3]])
    assert reference.offsets.tolist() == [0, 2, 2, 3]
    assert reference.wrong_rows(Flat.from_lengths(np.array([1, 2, 3]), [2, 0, 1])) == 0
    assert Flat.from_rows([[1, 2], [3], []]).wrong_rows(reference) == 2
    assert Flat.from_rows([[1, 2]]).wrong_rows(reference) == 3
    assert Flat.from_rows([]).wrong_rows(Flat.from_rows([])) == 0


def test_isolated_tasks_return_what_the_function_returned() -> None:
    assert run_task("builtins:dict", {"a": [1]}, timeout_s=60) == {"a": [1]}


@pytest.mark.parametrize(
    ("task", "arguments", "timeout_s", "reason"),
    [
        ("benches.texts:hostile_text", {"kind": "b", "n_bytes": 3}, 60, "hostile text 'b'"),
        ("benches.texts:hostile_text", {"kind": "a", "n_bytes": 3}, 60, "returned str"),
        ("os:abort", {}, 60, "signal 6"),
        ("multiprocessing.connection:wait", {"object_list": [], "timeout": 90}, 2, "no result"),
    ],
)
def test_isolated_tasks_may_fail_or_hang(
    task: str, arguments: dict[str, object], timeout_s: float, reason: str
) -> None:
    assert reason in run_task(task, arguments, timeout_s=timeout_s)["failed"]


def hold(n_bytes: int) -> dict[str, int | None]:
    """A task that holds some memory, gives it back, and says what was noticed."""
    before = start_peak_memory()
    held = b"x" * n_bytes
    del held
    peak = peak_memory_bytes()
    return {"added": None if before is None or peak is None else peak - before}


def test_peak_memory_is_the_childs_own() -> None:
    if start_peak_memory() is None:
        pytest.skip("the peak of a process can be reset on Linux only")
    ballast = b"y" * 200_000_000  # a parent larger than its child must not hide what it holds
    added = run_task("tests.structure.test_benches:hold", {"n_bytes": 50_000_000}, timeout_s=60)
    assert len(ballast) == 200_000_000
    assert 49_000_000 < added["added"] < 60_000_000


@pytest.mark.parametrize("kind", texts.HOSTILE)
def test_hostile_texts_have_their_size_and_are_the_same_every_time(kind: str) -> None:
    text = texts.hostile_text(kind, 999)
    assert len(text.encode()) == 999
    assert text == texts.hostile_text(kind, 999)


def test_samples_without_shared_data_come_from_python_itself(tmp_path: Path) -> None:
    samples = texts.samples(max_bytes=50_000, corpora=tmp_path)
    assert [sample.name for sample in samples] == ["python-documentation", "python-sources"]
    for sample in samples:
        assert sample.documents
        assert sample.n_bytes == sum(len(text.encode()) for text in sample.documents)
        assert not [text for text in sample.documents if "<|" in text]


def test_trainers_may_break_ties_otherwise_but_not_more() -> None:
    reference = [str(index) for index in range(200)]
    assert agreement(list(reference), reference) == (None, None)
    swapped = [reference[1], reference[0], *reference[2:]]
    assert agreement(swapped, reference) == (
        None,
        "other tie rule: 200 of 200 tokens are the reference's",
    )
    assert agreement(reference[:-1], reference)[0] == "199 of 200 tokens are the reference's"
    other = [*reference[:190], *(f"x{index}" for index in range(10))]
    assert agreement(other, reference)[0] == "190 of 200 tokens are the reference's"


def test_records_are_written_read_and_rendered(tmp_path: Path) -> None:
    rows = rank(
        [Row("jeton", (0.5,), None, None, 10**6), Row("other", (), None, "crash | boom", 10**6)]
    )
    result = {
        "date": "2026-11-21",
        "kind": "warm",
        "command": "make bench",
        "machine": {"cpu": "c", "cores": 2, "memory_gib": 4.0, "system": "s", "python": "p"},
        "versions": {"jeton": "0.1.0"},
        "caveats": ["a caveat"],
        "cases": [record.case("batch", "v", "english", rows, absent={"third": "not installed"})],
    }
    path = record.write(result, folder=tmp_path)
    assert json.loads(path.read_text(encoding="utf-8"))["cases"][0]["rows"][0]["name"] == "jeton"
    written = [entry for entry in tmp_path.rglob("*") if entry.is_file()]
    assert written == [tmp_path / "c" / "2026-11-21-warm.json"]
    text = record.show(["warm"], folder=tmp_path)
    assert "| jeton | 2 | 0.5 | 0.5 | 0.5 | 1 |  |  |" in text
    assert "crash \\| boom" in text
    assert text.index("a caveat") < text.index("| jeton |"), "caveats stand first"
    assert "third (not installed)" in text
    assert "Nothing has been recorded" in record.render(folder=tmp_path / "empty")
