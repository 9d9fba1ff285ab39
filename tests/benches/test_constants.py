"""Other values of the core's constants: the table, the new source, the bounds of noise.

Nothing is built or timed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benches import constant_table, constant_work, constants
from benches.ablation import Build
from benches.constant_table import CONSTANTS, Change, Constant, changes, rewritten

CRATES = Path(__file__).resolve().parents[2] / "crates"
ROWS = ("first english", "warm Thai", "load rank file, all")


def constant(name: str = "SIZE", *, steps: int = 1) -> Constant:
    return Constant(name, "a/src/lib.rs", "bytes", ("rows",), steps)


@pytest.mark.parametrize("one", CONSTANTS, ids=lambda one: one.key)
def test_each_constant_of_the_table_is_in_its_file_and_may_be_scaled(one: Constant) -> None:
    source = (CRATES / one.file).read_text(encoding="utf-8")
    for scale in (0.5, 2.0):
        assert rewritten(source, Change(one, scale)) != source


def test_no_constant_is_listed_twice_and_the_table_has_all() -> None:
    assert len({one.key for one in CONSTANTS}) == len(CONSTANTS)
    assert len(constant_table.table().splitlines()) == len(CONSTANTS) + 2


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("const SIZE: usize = 64 << 10;", "const SIZE: usize = 32768;"),
        ("pub(crate) const SIZE: u32 = 1_000;", "pub(crate) const SIZE: u32 = 500;"),
        (
            "const SIZE: Range<usize> = 16 << 10..1 << 20;",
            "const SIZE: Range<usize> = 8192..524288;",
        ),
        ("const SIZE: usize = 1;", "const SIZE: usize = 1;"),
    ],
)
def test_a_value_is_halved_and_never_none(line: str, expected: str) -> None:
    assert rewritten(f"// SIZE\n{line}\n", Change(constant(), 0.5)) == f"// SIZE\n{expected}\n"


def test_a_scale_may_take_two_steps_and_a_value_may_be_given() -> None:
    source = "const SIZE: usize = 64;\n"
    assert rewritten(source, Change(constant(steps=2), 0.5)) == "const SIZE: usize = 16;\n"
    assert rewritten(source, Change(constant(), value="7")) == "const SIZE: usize = 7;\n"


@pytest.mark.parametrize("source", ["", "const SIZE: u8 = 1;\nconst SIZE: u8 = 1;\n"])
def test_a_file_without_that_definition_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"a/src/lib\.rs:SIZE: not one definition"):
        rewritten(source, Change(constant(), 0.5))


def test_constants_are_named_by_name_and_by_file() -> None:
    assert [change.constant for change in changes([], 0.5)] == list(CONSTANTS)
    looks = changes(["LOOK_BYTES"], 2.0)
    assert len(looks) == len({change.constant.file for change in looks}) > 1
    (one,) = changes(["edit.rs:LOOK_BYTES=100"], 2.0)
    assert (one.constant.file, one.value) == ("jeton-core/src/tokenizer/growing/edit.rs", "100")
    with pytest.raises(ValueError, match="no constant 'NOTHING'"):
        changes(["NOTHING"], 2.0)


@pytest.mark.parametrize(
    ("again", "own", "expected"),
    [
        ([10.0, 10.0], [10.2, 10.2], False),  # within 3%
        ([10.0, 10.0], [12.0, 12.0], True),
        ([10.0, 10.0], [5.0, 5.0], True),
        ([11.0, 11.0], [12.0, 12.0], False),  # the copy is nearly as far
        ([10.0, 10.0], [10.0, 20.0], False),  # by the median only
    ],
)
def test_a_row_has_moved_if_least_and_median_are_beyond_the_noise(
    again: list[float], own: list[float], expected: bool
) -> None:
    seconds = {"as it is": [10.0, 10.0], "again": again, "x 2": own}
    assert constants.moved(seconds, "x 2")[2] is expected


def test_rows_that_moved_are_bold() -> None:
    seconds = {"as it is": [0.01], "again": [0.01], "x 2": [0.02]}
    assert constants.summary({"warm Thai": seconds}).splitlines()[-1] == (
        "| warm Thai | 10 | 1.00x 1.00x | **0.50x 0.50x** |"
    )


@pytest.mark.parametrize(("digest", "code"), [("same", 0), ("other", 1)])
def test_results_that_differ_are_an_error(
    digest: str,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[str] = []

    def answer(_: str, build: Build, *__: Any, **___: Any) -> Mapping[str, Any]:
        asked.append(build.name)
        return {row: (0.5, digest if build.name == "x 2" else "same") for row in ROWS}

    monkeypatch.setattr(constants, "FOLDER", tmp_path)
    monkeypatch.setattr(constants, "build", lambda name, _: tmp_path / name)
    monkeypatch.setattr(constants, "ask", answer)
    monkeypatch.setattr(constant_work, "prepare", lambda *_: {})
    output = tmp_path / "seconds.json"
    found = constants.main(
        ["--scale", "2", "--rounds", "2", "--workload", "passes", "--output", str(output)]
    )
    assert found == code
    assert asked.count("x 2") == 3  # the first fills caches
    assert output.is_file()
    assert ("differs between the builds: warm Thai" in capsys.readouterr().err) is bool(code)


def test_a_constant_that_is_unknown_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(constants, "build", lambda name, _: tmp_path / name)
    with pytest.raises(SystemExit) as stopped:
        constants.main(["--only", "NOTHING"])
    assert stopped.value.code == 2
    assert "no constant 'NOTHING'" in capsys.readouterr().err
