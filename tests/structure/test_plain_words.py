"""Docs begin with the thing or a verb, and comments fit the page."""

from __future__ import annotations

from pathlib import Path

from scripts import sentences, words

CEILINGS = {
    "concepts long": 1,  # a difference that a generated table quotes
    "messages long": 1,  # a formula with its numbers
    "messages riddle": 1,  # "What if" is the name of a comparison
}
"""Faults by place; a number may only fall, and a place that is missing has none."""


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


def test_sentences_inside_texts_get_no_worse() -> None:
    found = sentences.counts(list(sentences.faults()))
    worse = {name: count for name, count in found.items() if count > CEILINGS.get(name, 0)}
    assert not worse, "`python -m scripts.sentences PLACE` lists them"


def test_a_list_of_names_in_a_table_is_no_sentence(tmp_path: Path) -> None:
    guides = tmp_path / "docs" / "guides"
    guides.mkdir(parents=True)
    names = ", ".join(f"`usage.field_{n}`" for n in range(40))
    table = f"| kind | names |\n| --- | --- |\n| input | {names} |\n| output | {names} or none |\n"
    (guides / "a.md").write_text(table, encoding="utf-8")
    found = [(each.line, each.kind) for each in sentences.faults(tmp_path)]
    assert found == [(4, "long")]


def test_riddles_and_long_sentences_are_found(tmp_path: Path) -> None:
    guides = tmp_path / "docs" / "guides"
    guides.mkdir(parents=True)
    long = "Words " + "and words " * 16 + "follow."
    (guides / "a.md").write_text(
        "# What it is\n\nIt counts. Of tokens only few\nremain. What is a token?\n"
        "Ids equal those of it.\n\n"
        f"- {long}\n\n```\nWhat is code is not read.\n```\n",
        encoding="utf-8",
    )
    package = tmp_path / "python" / "jeton"
    package.mkdir(parents=True)
    (package / "a.py").write_text(
        '"""Counts.\n\nThose of it come first.\n\n    Attributes:\n        n: Of all files.\n"""\n'
        "# Whoever reads this is late.\n"
        'ERROR = "what was given is no file"\n'
        'FINE = "no file of this name"\n',
        encoding="utf-8",
    )
    found = [(each.place, each.kind, each.sentence) for each in sentences.faults(tmp_path)]
    assert found == [
        ("guides", "riddle", "Of tokens only few remain."),
        ("guides", "vague", "Ids equal those of it."),
        ("guides", "long", long),
        ("docstrings", "riddle", "Those of it come first."),
        ("fields", "riddle", "Of all files."),
        ("comments", "riddle", "Whoever reads this is late."),
        ("messages", "riddle", "what was given is no file"),
    ]
