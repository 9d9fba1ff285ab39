"""Docs begin with the thing or a verb, and comments fit the page."""

from __future__ import annotations

from pathlib import Path

from scripts import words


def test_no_doc_begins_with_a_riddle() -> None:
    found = [*words.rust_riddles(), *words.python_riddles()]
    assert not found, "`python -m scripts.words` lists them; begin with the noun or a verb"


def test_no_comment_of_rust_is_wider_than_the_page() -> None:
    found = list(words.wide_comments())
    assert not found, f"wrap at {words.WIDTH} columns: {found[:3]}"


def test_riddles_are_found(tmp_path: Path) -> None:
    source = tmp_path / "crates" / "a" / "src"
    source.mkdir(parents=True)
    (source / "lib.rs").write_text(
        "//! What it is.\n\n/// Returns ids.\n/// What follows is its second line.\nfn f() {}\n",
        encoding="utf-8",
    )
    package = tmp_path / "python" / "jeton"
    package.mkdir(parents=True)
    (package / "a.py").write_text(
        '"""Of such a name."""\n\n\ndef f() -> None:\n    """Whatever is there."""\n',
        encoding="utf-8",
    )
    assert [text for *_, text in words.rust_riddles(tmp_path)] == ["What it is."]
    assert [text for *_, text in words.python_riddles(tmp_path)] == ["Of such a name."]
