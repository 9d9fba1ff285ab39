"""Libraries in processes of their own: rounds, checks, failures, time limits. No timing."""

from __future__ import annotations

import base64
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benches import comparing, texts, vocabularies
from benches.cases import Case
from benches.comparing import Comparison
from benches.contenders import Contender, Failed, Missing
from benches.operations import OPERATIONS
from benches.peers.base import Adapter, Flat, Unsupported, VocabularyFiles
from benches.rounds import Run, Settings, hopeless, rounds_in_turn

PATTERN = r"\p{L}+|[^\p{L}]+"
TEXTS = ["hello world", "one 2 three", "naïve café", "x"]


@pytest.fixture
def files(tmp_path: Path) -> VocabularyFiles:
    tokens = [bytes([byte]) for byte in range(256)] + [b"he", b"ll", b"hell", b"hello"]
    lines = [base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)]
    path = tmp_path / "small.tiktoken"
    path.write_bytes(b"".join(lines))
    return VocabularyFiles("small", path, None, PATTERN, "jeton", has_own_pattern=True)


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(vocabularies, "BUILD", tmp_path / "build")
    comparing._stored.cache_clear()
    return tmp_path / "build"


class ByteAdapter(Adapter):
    """Every byte is a token."""

    name = "bytes"
    distribution = "no-such-distribution"

    def load(self, files: VocabularyFiles) -> None:
        raise Unsupported("has no vocabulary")

    def list_call(self) -> Callable[[str], list[int]]:
        return lambda text: list(text.encode())

    def decode_call(self) -> Callable[[Any], Any]:
        return bytes


def test_rounds_turn_and_distant_runs_stop_early() -> None:
    order: list[str] = []
    seconds = {
        "jeton": 9.0,
        "fast": 1.0,
        "near": 2.9,
        "far": 3.1,
        "wrong": 0.1,
        "remote": 10.1,
        "named": 99.0,
    }
    runs = [Run(name) for name in seconds]
    assert list(seconds)[4] == "wrong"
    runs[4].wrong = "1 of 1 documents differ"

    def once(run: Run) -> None:
        order.append(run.name[0])
        run.seconds.append(seconds[run.name])

    rounds_in_turn(runs, once, rounds=4, distant_rounds=2, named={"named"}, named_rounds=3)
    assert "".join(order[:13]) == "jfnfwrn" + "fnfwnj"
    assert {run.name: len(run.seconds) for run in runs} == {
        "jeton": 4,  # ours is always there to the end
        "fast": 4,
        "near": 4,
        "far": 2,
        "wrong": 4,  # its speed is no measure of the others
        "remote": 1,
        "named": 3,  # a bar is about it
    }


def test_the_best_of_the_others_has_all_rounds_however_far_ours_is_ahead() -> None:
    seconds = {"jeton": 0.01, "best": 1.0, "far": 4.0}
    runs = [Run(name) for name in seconds]
    rounds_in_turn(
        runs, lambda run: run.seconds.append(seconds[run.name]), rounds=5, distant_rounds=1
    )
    assert [len(run.seconds) for run in runs] == [5, 5, 1]


def test_who_is_left_out_of_cases_that_are_alike() -> None:
    seconds = {"jeton": 0.1, "fast": 1.0, "slow": 19.0, "hopeless": 21.0, "named": 21.0}
    runs = [Run(name, [time, time]) for name, time in seconds.items()]
    runs += [Run("wrong", [0.1], wrong="1 of 1 documents differ"), Run("gone", [99.0], failed="x")]
    assert hopeless(runs, but={"named"}) == {"hopeless": 21.0}
    assert hopeless([]) == {}


def test_cases_of_a_group_leave_out_who_was_hopeless(
    files: VocabularyFiles, build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "hopeless", lambda runs, *, but: {"blingfire": 31.4})
    sample = texts.Sample.of("tiny", TEXTS)
    settings = Settings(rounds=1, distant_rounds=1, libraries=("jeton", "blingfire"))
    with Comparison(settings) as comparison:
        cases = [Case(files, sample, ["warm"], group=group) for group in ("a", "a", "b")]
        absent = [comparison.measure(case)["absent"]["blingfire"] for case in cases]
    words = "31 times slower than the fastest on tiny"
    assert absent[1] == words
    assert words not in (absent[0], absent[2])


def test_a_reference_that_fails_is_replaced_and_not_tried_again(
    files: VocabularyFiles, build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def write(library: str, files: VocabularyFiles, documents: Path, path: Path) -> None:
        tried.append(library)
        if library == "tiktoken":
            raise Failed("no result after 120 s")
        path.write_bytes(b"")

    monkeypatch.setattr(Comparison, "_write_reference", staticmethod(write))
    sample = texts.Sample.of("tiny", TEXTS)
    files = replace(files, reference="tiktoken")
    with Comparison(Settings()) as comparison:
        paths = [comparison.reference(files, sample, fallback="jeton") for _ in range(2)]
        assert tried == ["tiktoken", "jeton", "jeton"]
        assert paths[0] == paths[1]
        with pytest.raises(Failed, match="no result"):
            comparison.reference(files, sample)


def test_what_fails_in_a_round_falls_out_alone() -> None:
    runs = [Run("good"), Run("bad"), Run("cannot")]

    def once(run: Run) -> None:
        if run.name == "bad" and run.seconds:
            raise Failed("ended by signal 11")
        if run.name == "cannot":
            raise Missing("reads other files")
        run.seconds.append(1.0)

    rounds_in_turn(runs, once, rounds=3, distant_rounds=3)
    assert [len(run.seconds) for run in runs] == [3, 1, 0]
    assert (runs[1].failed, runs[2].missing) == ("ended by signal 11", "reads other files")


def test_a_library_is_checked_against_the_reference(files: VocabularyFiles, build: Path) -> None:
    sample = texts.Sample.of("tiny", TEXTS)
    settings = Settings(
        rounds=2, fresh_rounds=1, distant_rounds=1, libraries=("jeton", "blingfire")
    )
    with Comparison(settings) as comparison:
        found = comparison.measure(Case(files, sample, ["warm"]))
        (row,) = found["rows"]
        assert (row["name"], row["wrong"], len(row["values"])) == ("jeton", None, 2)
        assert list(found["absent"]) == ["blingfire"]
        assert found["n_texts"] == len(TEXTS)
        # Now with a reference that has one id too many in one text.
        path = comparison.reference(files, sample)
        with np.load(path) as stored:
            ids, offsets = stored["ids"], stored["offsets"]
        offsets[-1] += 1
        np.savez(path, ids=np.append(ids, np.uint32(7)), offsets=offsets)
        again = comparison.measure(Case(files, sample, [], fresh=True))
        assert (found["operation"], again["operation"]) == (
            "one by one, into arrays, warm",
            "one by one, into arrays, first pass",
        )
        assert again["rows"][0]["wrong"] == "1 of 4 documents differ"
        assert again["rows"][0]["ratio_to_best_peer"] is None


@pytest.mark.parametrize("library", ["no-such-library", "jeton"])
def test_a_process_that_fails_says_why(library: str, files: VocabularyFiles) -> None:
    with Contender(library) as contender:
        if library == "jeton":
            with pytest.raises(Failed, match="FileNotFoundError"):
                contender.ask("load", files={**files.to_dict(), "rank_file": "/no/such.tiktoken"})
            # It answers on.
            assert contender.ask("about") == {"bundled": False}
            os.kill(contender._process.pid, signal.SIGKILL)
            with pytest.raises(Failed, match="ended by signal 9"):
                contender.ask("about")
        else:
            with pytest.raises(Failed, match="KeyError"):
                contender.ask("about")


def test_a_process_that_takes_too_long_is_ended() -> None:
    with Contender("jeton") as contender:
        contender.ask("about")
        os.kill(contender._process.pid, signal.SIGSTOP)
        with pytest.raises(Failed, match=r"no result after 0\.2 s"):
            contender.ask("about", timeout_s=0.2)
    assert contender._process.returncode is not None


@pytest.mark.parametrize(
    "operation", ["one by one, into arrays", "one by one, into lists", "64 Python threads"]
)
def test_operations_notice_wrong_ids(operation: str) -> None:
    right = Flat.from_rows([list(text.encode()) for text in TEXTS])
    prepared = OPERATIONS[operation](ByteAdapter(), TEXTS, right, {})
    result = prepared.run()
    assert prepared.check(result) is None
    shorter = [list(text.encode())[: -1 if "2" in text else None] for text in TEXTS]
    wrong = Flat.from_rows(shorter)
    other = OPERATIONS[operation](ByteAdapter(), TEXTS, wrong, {})
    assert other.check(result) == "1 of 4 documents differ"


def test_decoded_text_is_compared_with_the_documents() -> None:
    right = Flat.from_rows([list(text.encode()) for text in TEXTS])
    prepared = OPERATIONS["decode, one by one"](ByteAdapter(), TEXTS, right, {})
    assert prepared.check(prepared.run()) is None
    assert prepared.check([b"other", *prepared.run()[1:]]) == "1 of 4 documents differ"


def test_every_operation_says_what_a_library_cannot_do(files: VocabularyFiles) -> None:
    right = Flat.from_rows([list(text.encode()) for text in TEXTS])
    for name in ("decode a batch", "ids with offsets"):
        with pytest.raises(Unsupported, match="bytes"):
            OPERATIONS[name](ByteAdapter(), TEXTS, right, {})
    for name in ("batch", "padded batch", "count a batch"):
        prepared = OPERATIONS[name](ByteAdapter(), TEXTS, right, {})
        with pytest.raises(Unsupported, match="bytes"):
            prepared.run()
    counted = OPERATIONS["count, one by one"](ByteAdapter(), TEXTS, right, {})
    assert counted.note == "by encoding"
    assert counted.check(counted.run()) is None
    assert counted.check([0, *counted.run()[1:]]) == "1 of 4 documents differ"
    assert VocabularyFiles.from_dict(files.to_dict()) == files
