"""Imports point down: between crates and the rooms of the core, and nowhere in a circle."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from scripts import rooms

LAYERS = (
    {"error"},
    {"memory", "cpu", "codec", "text"},
    {"vocab", "documents"},
    {"cache", "pretokenize", "normalize", "special", "inputs"},
    {"models"},
    {"pipeline", "sentencepiece", "decode"},
    {"engine", "config"},
    {"raw_words", "tokenizer"},
    {"assembly"},
    {"format", "compiled"},
)
"""Rooms of the core from the ground floor up; rooms of one layer may know one another one way."""


def _layer(room: str) -> int:
    return next(number for number, layer in enumerate(LAYERS) if room in layer)


def test_every_room_has_a_layer() -> None:
    arrows = rooms.rust_arrows()
    assert {room for pair in arrows for room in pair} == set().union(*LAYERS)


def test_no_arrow_of_the_core_points_up() -> None:
    upward = {
        pair: files
        for pair, files in rooms.rust_arrows().items()
        if _layer(pair[0]) < _layer(pair[1])
    }
    assert upward == {}


def test_the_core_has_no_circle_and_few_floors() -> None:
    arrows = rooms.rust_arrows()
    assert rooms.circles(arrows) == []
    assert max(rooms.floors(arrows).values()) < 10


def test_a_circle_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.rs").write_text("use crate::b::B;\n", encoding="utf-8")
    (tmp_path / "b.rs").write_text("use crate::c::C;\n// crate::d\n", encoding="utf-8")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "mod.rs").write_text(
        "fn f() { crate::a::f() }\n#[cfg(test)]\nmod tests {\n    use crate::d::D;\n}\n",
        encoding="utf-8",
    )
    arrows = rooms.rust_arrows(tmp_path)
    assert set(arrows) == {("a", "b"), ("b", "c"), ("c", "a")}
    assert rooms.circles(arrows) == [["a", "b", "c"]]


def test_floors_count_from_the_ground() -> None:
    arrows = {("a", "b"): ["a.py"], ("b", "c"): ["b.py"], ("a", "c"): ["a.py"]}
    assert rooms.floors(arrows) == {"a": 2, "b": 1, "c": 0}


def test_main_prints_rooms(capsys: pytest.CaptureFixture[str]) -> None:
    assert rooms.main(["--arrows"]) == 0
    assert "tokenizer -> engine:" in capsys.readouterr().out


CRATES = (
    "jeton-chunk",
    "jeton-core",
    "jeton-pack",
    "jeton-scan",
    "jeton-serving",
    "jeton-measure",
    "jeton-train",
    "jeton-io",
    "jeton-testing",
    "jeton-py",
)
"""Crates from the ground floor up: a crate depends on crates before it only."""


def test_no_crate_depends_on_one_above() -> None:
    folders = sorted(path.parent.name for path in (rooms.ROOT / "crates").glob("*/Cargo.toml"))
    assert folders == sorted(CRATES)
    for number, name in enumerate(CRATES):
        manifest = (rooms.ROOT / "crates" / name / "Cargo.toml").read_text(encoding="utf-8")
        needed = tomllib.loads(manifest).get("dependencies", {})
        assert {one for one in needed if one in CRATES} <= set(CRATES[:number]), name


CIRCLES_OF_LAZY_IMPORTS = [
    # Methods of a class that make or read another class, which imports the first.
    ["jeton.adapt.change", "jeton.adapt.change_files", "jeton.adapt.deriving"],
    # An encoding is pickled by its name, which the registry of encodings finds again.
    ["jeton.compat.tiktoken.core", "jeton.compat.tiktoken.registry"],
    # A model names its trainer, and the trainer makes a model.
    ["jeton.compat.tokenizers.models", "jeton.compat.tokenizers.trainers"],
    ["jeton.registry.finding", "jeton.registry.of_models", "jeton.registry.places"],
]
"""Each stands in the interface that is followed, or in a value's own methods; none may be added."""


def test_the_package_has_no_circle() -> None:
    assert rooms.circles(rooms.python_arrows()) == []


def test_modules_have_no_circle_but_known_ones() -> None:
    assert rooms.circles(rooms.module_arrows()) == CIRCLES_OF_LAZY_IMPORTS


def test_a_circle_of_lazy_imports_is_found(tmp_path: Path) -> None:
    top = tmp_path / "house"
    top.mkdir()
    (top / "__init__.py").write_text("", encoding="utf-8")
    (top / "a.py").write_text("from house import b\n", encoding="utf-8")
    (top / "b.py").write_text(
        "if TYPE_CHECKING:\n    from house.c import C\n\n"
        "def f():\n    try:\n        from house.a import g\n    except OSError: ...\n",
        encoding="utf-8",
    )
    (top / "c.py").write_text("import house.b\n", encoding="utf-8")
    arrows = rooms.module_arrows(top)
    assert set(arrows) == {("house.a", "house.b"), ("house.b", "house.a"), ("house.c", "house.b")}
    assert rooms.circles(arrows) == [["house.a", "house.b"]]


MOST_LINES, MOST_FILES = 136_000, 905
"""Size of the package on 2026-11-29; part 18 aims at far less. Lower them where code goes."""


def test_the_package_only_shrinks() -> None:
    n_lines, n_files = (sum(column) for column in zip(*rooms.sizes().values(), strict=True))
    assert n_lines <= MOST_LINES
    assert n_files <= MOST_FILES
