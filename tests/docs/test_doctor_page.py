"""failures.md and doctor.md: the list is what the doctor looks for."""

from __future__ import annotations

import re

from jeton.doctor import failures
from jeton.doctor.normalization import parallel_texts
from scripts import doctor_page
from tests.docs.pages import text_of

TEXT = doctor_page.PAGE.read_text(encoding="utf-8")


def test_the_list_is_up_to_date() -> None:
    listed = doctor_page.PART.of(TEXT)
    assert listed == doctor_page.render(), "python -m scripts.doctor_page rewrites it"
    assert doctor_page.main(["--check"]) == 0


def test_every_failure_is_written_for_a_reader() -> None:
    known = failures()
    assert len({failure.id for failure in known}) == len(known)
    for failure in known:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", failure.id)
        for words in (failure.name, failure.symptom, failure.cause, failure.remedy):
            assert 10 < len(words) < 500, failure.id
            assert not words.endswith("."), failure.id
            first = words.split()[0]
            # Quoted messages are as they are.
            assert first.startswith("`") or not first.istitle(), (failure.id, words)
        assert failure.needs


def test_the_number_of_languages() -> None:
    assert f"in {len(parallel_texts())} languages" in text_of("doctor")
