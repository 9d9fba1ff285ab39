"""The comparison itself: it finds what is wrong, says what is missing, and keeps to its list."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import jeton
from scripts.conformance import board
from scripts.conformance.__main__ import main
from scripts.conformance.checks import SetResult, check_set
from scripts.conformance.known import KNOWN, KnownDifference, known_differences
from scripts.conformance.running import Outcome
from scripts.conformance.sets import SETS, Case, GoldenSet
from scripts.conformance.smallest import is_smallest, smallest

VOCABULARIES = Path(jeton.__file__).parent / "vocabularies"
TEXTS = ("", "a", "Hello world", "caf\u00e9 \u4e2d\u6587", "  two  spaces\n")


@pytest.fixture
def golden() -> GoldenSet:
    """A set whose reference is the bundled tokenizer itself."""
    path = next(iter(sorted(VOCABULARIES.glob("jeton-general-32k*.zst"))))
    tokenizer = jeton.load(path)
    return GoldenSet(
        name="own",
        vocabulary_paths=(path,),
        header={
            "library": "tiktoken",
            "version": "0",
            "vocab_file": path.name,
        },
        cases=tuple(Case(text, tokenizer.encode(text), None, "own") for text in TEXTS),
    )


def check(golden: GoldenSet, *known: KnownDifference) -> SetResult:
    return check_set(golden, threads=(1, 2), reference=None, known=known)


def with_ids(golden: GoldenSet, number: int, ids: list[int]) -> GoldenSet:
    cases = list(golden.cases)
    cases[number] = dataclasses.replace(cases[number], ids=ids)
    return dataclasses.replace(golden, cases=tuple(cases))


def test_equal_sets_are_equal(golden: GoldenSet) -> None:
    result = check(golden)
    assert (result.n_equal, result.n_different, result.faults) == (5, 0, ())
    assert result.ok


def test_a_wrong_id_is_found(golden: GoldenSet) -> None:
    result = check(with_ids(golden, 2, [1, 2]))
    assert (result.n_equal, result.n_different) == (4, 1)
    assert {fault.case for fault in result.faults} == {2}
    said = " ".join(fault.what for fault in result.faults)
    assert "expected [1, 2]" in said
    assert "batch, 2 threads" in said
    assert "text back" in said


def test_a_special_column_is_compared_too(golden: GoldenSet) -> None:
    cases = [dataclasses.replace(golden.cases[0], ids_special_on=[7]), *golden.cases[1:]]
    result = check(dataclasses.replace(golden, cases=tuple(cases)))
    assert result.n_special_cases == 1
    assert {fault.case for fault in result.faults} == {0}


def test_a_listed_difference_is_expected(golden: GoldenSet) -> None:
    ours = golden.cases[2].ids
    # Decoding gives the text of other ids, so the other ids are of the same text.
    other = [i for c in "Hello world" for i in jeton.load(golden.vocabulary_paths[0]).encode(c)]
    changed = with_ids(golden, 2, other)
    listed = KnownDifference("ids", 2, ours, "a reason")
    result = check(changed, listed)
    assert result.ok
    assert (result.n_different, result.n_known, result.reasons) == (1, 1, ("a reason",))


def test_a_listed_difference_that_became_equal_is_told(golden: GoldenSet) -> None:
    result = check(golden, KnownDifference("ids", 2, [1, 2], "a reason"))
    assert not result.ok
    assert "equal now, though listed" in result.faults[0].what


def test_a_listed_difference_with_other_ids_is_told(golden: GoldenSet) -> None:
    result = check(with_ids(golden, 2, [5]), KnownDifference("ids", 2, [1, 2], "a reason"))
    assert "a listed difference" in result.faults[0].what


def test_a_set_that_does_not_load_is_different(golden: GoldenSet, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}", encoding="utf-8")
    result = check(dataclasses.replace(golden, vocabulary_paths=(path,)))
    assert result.not_loaded is not None
    assert str(path) in result.not_loaded
    assert (result.n_equal, result.ok) == (0, False)


def test_the_list_of_known_differences_reads() -> None:
    assert set(known_differences()) <= set(SETS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "other"}, "schema"),
        ({"sets": {"x": [{"reason": "r", "cases": {"idz": {"1": []}}}]}}, "column"),
        ({"sets": {"x": [{"reason": "r", "cases": {"ids": {"1": [2]}}}] * 2}}, "twice"),
    ],
)
def test_a_damaged_list_is_refused(change: dict[str, object], message: str, tmp_path: Path) -> None:
    document = {**json.loads(KNOWN.read_text(encoding="utf-8")), **change}
    path = tmp_path / "known.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        known_differences(path)


def test_without_the_data_the_exit_code_is_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--shared", str(tmp_path)]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "error: no golden sets at" in output.err
    assert "hint: put it beside the project" in output.err


def test_the_board_is_of_a_whole_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--board", "--only", "gpt2_hf"]) == 2
    assert "whole run" in capsys.readouterr().err


def test_one_line_a_set(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out.json"
    options = ["--shared", str(shared), "--threads", "1", "--json", str(path)]
    assert main([*options, "--only", "r50k_base"]) == 0
    line, last = capsys.readouterr().out.splitlines()
    assert " ".join(line.split()) == ("r50k_base tiktoken 0.14.0 985 cases 985 equal 0 different")
    assert last == "1 compared, 0 with unexpected differences"
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["sets"][0]["n_equal"] == 985
    assert main([*options, "--only", "no such set"]) == 2


def test_the_board_says_what_differs(golden: GoldenSet) -> None:
    result = check(with_ids(golden, 2, [1, 2]))
    outcome = Outcome(threads=(1, 2), sets=[result], examples={"own": "'a|b': [1], not [2]"})
    text = board.render(outcome)
    assert "| 5 | 4 | 1 | `'a\\|b': [1], not [2]` |" in text
    document = f"x\n{board.PART.begin}\nold\n{board.PART.end}\ny\n"
    changed = board.PART.replaced(document, text)
    assert "old" not in changed
    assert changed.startswith("x\n")
    assert changed.endswith("\ny\n")
    with pytest.raises(ValueError, match="expected one"):
        board.PART.replaced("x", text)


def test_a_smallest_text_is_found() -> None:
    def holds(text: str) -> bool:
        return "\u017f" in text and "'" in text

    found = smallest("A long text, isn't it?  With a \u017f in it.", holds)
    assert sorted(found) == ["'", "\u017f"]
    assert is_smallest(found, holds)
    assert not is_smallest(found + "x", holds)
