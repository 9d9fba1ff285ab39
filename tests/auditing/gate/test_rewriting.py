"""The rewritings and the languages: what they see, and what they leave alone."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.auditing.gate.rewriting import TEXT_STEPS, rewritten
from jeton.corpus.languages import LANGUAGES, language_class
from tests.auditing.gate.changed_texts import FRENCH, doubled_white_space


def wording(text: str) -> str:
    for changed in rewritten(text):
        text = text if changed is None else changed
    return text


def changed_steps(text: str) -> list[str]:
    return [
        step
        for step, changed in zip(TEXT_STEPS, rewritten(text), strict=True)
        if changed is not None
    ]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("plain text.\nsecond line", []),
        ("e\u0301te\u0301", ["unicode_form"]),
        ("\uff41\uff42 \ufb01", ["compatibility_forms"]),
        ("zero\u200bwidth \ufeffmark so\u00adft nul\x00", ["invisible_characters"]),
        ("a  b", ["white_space"]),
        ("a\tb", ["white_space"]),
        ("a\r\nb", ["white_space"]),
        ("Word", ["letter_case"]),
        ("", []),
    ],
)
def test_each_feature_is_seen_by_its_step(text: str, steps: list[str]) -> None:
    assert changed_steps(text) == steps


def test_the_wording() -> None:
    assert wording("  The\tCAFE\u0301  \r\n\r\n is\u200b open") == " the caf\u00e9\nis open"


# Controls of Latin-1 and the no-break space are what is left of garbled UTF-8; both may be white
# space too.
@given(
    st.text(
        st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u00a0")
        | st.sampled_from("\t\n\r\v ")
    )
)
def test_white_space_and_composition_do_not_change_the_wording(text: str) -> None:
    assert wording(doubled_white_space(text)) == wording(text)
    assert wording(unicodedata.normalize("NFD", text)) == wording(text)


@given(st.text())
def test_every_step_reports_a_change_and_nothing_else(text: str) -> None:
    last = text
    for changed in rewritten(text):
        assert changed != last
        last = last if changed is None else changed


def test_long_runs_are_linear() -> None:
    assert wording("a" + " \t" * 500_000 + "b") == "a b"
    assert wording("\u200b" * 1_000_000) == ""


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("the cat sat on the mat and it was happy with that", "english"),
        (FRENCH[0].lower(), "french"),
        ("der hund und die katze sind nicht auf dem dach", "german"),
        ("это не то, что мы хотели, но как есть", "russian"),
        ("これは日本語の文章です。漢字も含まれています", "japanese"),
        ("这是一个中文句子，没有假名。", "chinese"),
        ('<div class="x"> 这是一个中文句子，没有假名，可是有标记 </div>', "chinese"),
        ("안녕하세요 세계", "korean"),
        ("สวัสดีชาวโลก", "thai"),
        ("xqz vvb", "latin"),
        ("12345 !!", "none"),
        ("— … ¿", "none"),
        ("", "none"),
    ],
)
def test_language_classes(text: str, language: str) -> None:
    assert language_class(text) == language


def test_languages_are_named() -> None:
    assert {"english", "norwegian", "urdu"} <= set(LANGUAGES)
