"""The harness itself: shrinking, counting, batches that can be repeated, and the command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts import differential
from tests.differential.harness import (
    Check,
    Difference,
    Family,
    NotLoadable,
    Outcome,
    Pair,
    Raised,
    Refused,
    batch_seed,
    compare,
    each_text,
    fixed,
    rows,
    run,
    shrink,
)


def length_of(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def wrong_for(letter: str) -> Check:
    """Right but for texts that hold this letter twice."""
    return Check("length", each_text(lambda text: len(text) - (text.count(letter) > 1)), length_of)


@pytest.mark.parametrize(
    ("text", "needed", "smallest"),
    [
        ("xxaxxxxbxx", "ab", "ab"),
        ("a" * 1_000, "a" * 100, "a" * 100),
        ("ab" * 50, "bb", "bb"),
        ("q", "q", "q"),
        ("", "", ""),
    ],
)
def test_shrinking_leaves_nothing_that_can_go(text: str, needed: str, smallest: str) -> None:
    def fails(part: str) -> bool:
        """`needed` is a subsequence of the part."""
        rest = iter(part)
        return all(letter in rest for letter in needed)

    assert shrink(text, fails) == smallest


def test_shrinking_ends_when_it_must() -> None:
    assert len(shrink("ab" * 5_000, lambda part: part.count("a") > 4_000, max_calls=10)) > 8_000


def test_a_difference_is_found_shrunk_and_can_be_repeated_from_its_batch() -> None:
    family = Family("toy", fixed(lambda: Pair((wrong_for("e"),))), batch_cases=50)
    outcome = run(family, cases=2_000, seed=5)
    assert outcome.cases == 2_000
    assert 0 < outcome.different < 2_000
    assert outcome.equal == 2_000 - outcome.different
    first = outcome.differences[0]
    assert (first.text, first.ours, first.theirs) == ("ee", 1, 2)
    again = run(family, cases=50, seed=5, first_batch=first.batch)
    assert again.differences[0].original == first.original


def test_the_honest_one_is_equal() -> None:
    family = Family("honest", fixed(lambda: Pair((Check("length", length_of, length_of),))))
    outcome = run(family, cases=100, seed=5)
    assert (outcome.cases, outcome.equal, outcome.different) == (100, 100, 0)


def test_a_check_that_always_fails_is_given_up_and_the_others_go_on() -> None:
    always = Check("always", each_text(lambda _: 0), each_text(lambda _: 1))
    late = Check("late", each_text(lambda text: text == "\x00late"), each_text(lambda _: False))
    family = Family("both", fixed(lambda: Pair((always, late))), batch_cases=10)
    outcome = run(family, cases=200, seed=1, stop_at=30)
    assert outcome.stopped == ["always"]
    assert (outcome.cases, outcome.different) == (200, 30)


def test_documented_differences_are_counted_apart() -> None:
    known = Check(
        "length",
        each_text(lambda _: -1),
        length_of,
        known=lambda text, ours, theirs: ours == -1 and theirs == len(text) < 3,
    )
    compared = compare((known,), ["a", "abc", "bb"])
    assert compared.known == {0, 2}
    assert list(compared.wrong) == [1]


def test_where_the_reference_fails_nothing_is_proved_and_where_we_fail_it_counts() -> None:
    def fails_on_x(text: str) -> int:
        if "x" in text:
            raise ValueError("no x\nat all")
        return len(text)

    assert rows(each_text(fails_on_x), ["a", "x"]) == [1, Raised("ValueError: no x")]
    theirs = Check("length", length_of, each_text(fails_on_x))
    ours = Check("length", each_text(fails_on_x), length_of)
    assert compare((theirs,), ["a", "x"]).unanswered == {1}
    assert compare((ours,), ["a", "x"]).wrong == {1: ours}


def test_a_panic_is_no_end_of_the_run() -> None:
    class Panic(BaseException):
        """Panic in Rust as Python sees it."""

    def panics(_text: str) -> int:
        raise Panic("index out of bounds")

    compared = compare((Check("length", length_of, each_text(panics)),), ["a"])
    assert compared.unanswered == {0}


def test_refused_and_not_loadable_are_said_and_end() -> None:
    def refuses(seed: int) -> Pair:
        raise Refused(f"no {'odd' if seed % 2 else 'even'} ones")

    outcome = run(Family("refused", refuses), cases=100, seed=1)
    assert outcome.cases == 0
    assert set(outcome.refused) == {"no odd ones", "no even ones"}

    def missing() -> Pair:
        raise NotLoadable("not supported yet")

    outcome = run(Family("missing", fixed(missing)), cases=100, seed=1)
    assert differential.describe(outcome) == "missing: not loadable: not supported yet"


def test_batches_of_neighbouring_seeds_are_different() -> None:
    seeds = {batch_seed(seed, batch) for seed in range(30) for batch in range(30)}
    assert len(seeds) == 900


def test_a_line_says_what_was_found() -> None:
    outcome = Outcome("toy", 7, cases=10, different=1, known=2, unanswered=3, seconds=1.25)
    assert differential.describe(outcome) == (
        "toy: 10 cases, 4 equal, 1 different, seed 7, 1.2 s; 2 differ as documented; "
        "the reference failed on 3"
    )


def families(check: Check) -> list[Family]:
    return [Family(name, fixed(lambda: Pair((check,)))) for name in ("a/one", "a/two", "b/one")]


def test_the_command_names_and_chooses_families(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    honest = Check("length", length_of, length_of)
    monkeypatch.setattr(differential, "families", lambda _shared: families(honest))
    monkeypatch.setattr(differential, "_silence_libraries", lambda: None)
    assert differential.main(["--list"]) == 0
    assert capsys.readouterr().out.split() == ["a/one", "a/two", "b/one"]
    assert differential.main(["--family", "a", "--list"]) == 0
    assert capsys.readouterr().out.split() == ["a/one", "a/two"]
    assert differential.main(["--family", "*/one", "--cases", "10"]) == 0
    assert capsys.readouterr().out.count("10 cases, 10 equal, 0 different, seed 1") == 2
    assert differential.main(["--family", "c"]) == 2
    assert capsys.readouterr().err.startswith("error: no family matches c\nhint: ")


def test_the_command_shows_a_difference_and_ends_with_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(differential, "families", lambda _shared: families(wrong_for("e"))[:1])
    monkeypatch.setattr(differential, "_silence_libraries", lambda: None)
    file = tmp_path / "outcome.json"
    arguments = ["--cases", "500", "--seed", "5", "--json", str(file)]
    assert differential.main(arguments) == 1
    out = capsys.readouterr().out
    assert (
        "DIFFERENT a/one: length (batch 0)\n    text     'ee'\n    jeton    1\n    expected 2"
        in out
    )
    (written,) = json.loads(file.read_text(encoding="utf-8"))
    assert written["differences"][0]["text"] == "ee"
    assert written["different"] + written["equal"] == 500


def test_the_file_of_a_tokenizer_made_in_the_run_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(differential, "MADE_IN_THE_RUN", tmp_path)
    found = Difference("grammar/x", "ids", 3, "\u017f", [1], [2], "a\u017f", '{"model": 1}')
    differential._show(found)
    assert "text     '\\u017f'" in capsys.readouterr().out
    assert (tmp_path / "grammar-x-ids-3.json").read_text(encoding="utf-8") == '{"model": 1}'
