"""The described pipeline: from TOML, checked, and its preprocessing tried on the sample."""

from __future__ import annotations

import contextlib
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton._core import Tokenizer
from jeton.auditing import Pipeline, audit, read_pipeline
from jeton.auditing.options.pipeline import pipeline_of
from jeton.auditing.options.preprocessing_steps import STEPS, step_named
from jeton.errors import JetonError, UsageError
from tests.auditing.conftest import EvidenceOf

WHOLE = """
[pipeline]
max_length = 512
padding = "longest"
batch_size = 32
truncation = "right"
chunk_tokens = 256
overlap_tokens = 32
preprocessing = ["nfc", "strip_html"]
preprocessing_command = "sed -e 's/a b/c/'"
cache = true
cache_ttl_seconds = 300
max_output_tokens = 1024
reserved_tokens = 4096
train_tokenizer = "llama3"
serve_tokenizer = "cl100k_base"
length_prediction = false
"""


def _write(folder: Path, text: str) -> Path:
    path = folder / "pipeline.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_whole_pipeline_is_read(tmp_path: Path) -> None:
    expected = Pipeline(
        max_length=512,
        padding="longest",
        batch_size=32,
        truncation="right",
        chunk_tokens=256,
        overlap_tokens=32,
        preprocessing=("nfc", "strip_html"),
        preprocessing_command=("sed", "-e", "s/a b/c/"),
        cache=True,
        cache_ttl_seconds=300,
        max_output_tokens=1024,
        reserved_tokens=4096,
        train_tokenizer="llama3",
        serve_tokenizer="cl100k_base",
        length_prediction=False,
    )
    assert read_pipeline(_write(tmp_path, WHOLE)) == expected
    assert read_pipeline(_write(tmp_path, WHOLE.replace("[pipeline]", ""))) == expected
    assert read_pipeline(_write(tmp_path, "")) == Pipeline()
    assert pipeline_of({"max_length": 9, "cache": None}, base=expected).max_length == 9
    assert pipeline_of({"max_length": 9, "cache": None}, base=expected).cache is True


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("max_lenght = 5", "'max_lenght' is no setting.*\nhint: did you mean max_length"),
        ("max_length = 0", "max_length is 0; expected a whole number of at least 1"),
        ("max_length = true", "max_length is True"),
        ("max_length = 1.5", "max_length is 1.5"),
        ("padding = 'static'", "padding is static, but max_length is not given"),
        ("padding = 'most'", "padding is 'most'; expected one of static, longest, none"),
        ("truncation = 3", "truncation is 3"),
        ("overlap_tokens = 5", "chunk_tokens is not given"),
        ("overlap_tokens = 5\nchunk_tokens = 5", "expected an overlap below"),
        ("cache = 'yes'", "cache is 'yes'; expected true or false"),
        ("cache_ttl_seconds = -1", "cache_ttl_seconds is -1"),
        ("cache_ttl_seconds = inf", "cache_ttl_seconds is inf"),
        ("train_tokenizer = 5", "train_tokenizer is 5; expected a text"),
        ("preprocessing = ['nfd', 'lower']", "'lower' is not known.*\nhint: did you mean lower"),
        ("preprocessing = 3", "preprocessing is 3; expected a list"),
        ("preprocessing_command = [1]", "expected a list of texts"),
        ("a = [", "not valid TOML"),
        ("[pipeline]\n[other]\n", "'other' stands beside"),
        ("pipeline = 3", "expected a table"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_file(
    tmp_path: Path, text: str, says: str
) -> None:
    import re

    path = _write(tmp_path, text)
    with pytest.raises(UsageError, match=f"(?s){re.escape(str(path))}: .*{says}"):
        read_pipeline(path)


@given(st.binary(max_size=200))
def test_no_file_does_worse_than_be_refused(tmp_path_factory: Any, data: bytes) -> None:
    path = tmp_path_factory.mktemp("pipeline") / "p.toml"
    path.write_bytes(data)
    with contextlib.suppress(JetonError):
        read_pipeline(path)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = _write(tmp_path, "#" * (2 << 20))
    with pytest.raises(UsageError, match="too many for a file of settings"):
        read_pipeline(path)


TEXTS = ["Café déjà vu  today", "<p>plain &amp; simple</p>", "nothing to do"]


def test_steps_are_measured_one_after_another(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    pipeline = Pipeline(preprocessing=("nfd", "Strip_HTML"))
    effects = evidence_of(TEXTS, tokenizers=[good], pipeline=pipeline).preprocessing
    decomposed = [unicodedata.normalize("NFD", text) for text in TEXTS]
    stripped = [text.replace("<p>", " ").replace("</p>", " ") for text in decomposed]
    stripped = [text.replace("&amp;", "&") for text in stripped]
    assert [effect.name for effect in effects] == ["nfd", "Strip_HTML"]
    assert [effect.n_changed for effect in effects] == [1, 1]
    for effect, before, after in zip(
        effects, (TEXTS, decomposed), (decomposed, stripped), strict=True
    ):
        assert effect.n_documents == 3
        assert effect.n_tokens_before == sum(map(good.count, before))
        assert effect.n_tokens_after == sum(map(good.count, after))
        assert effect.n_bytes_before == sum(len(text.encode()) for text in before)
        assert effect.n_bytes_after == sum(len(text.encode()) for text in after)


@pytest.mark.parametrize("name", sorted(STEPS))
def test_every_step_takes_any_text_and_leaves_plain_words(name: str) -> None:
    step = step_named(name)
    assert step("plain words 12") == "plain words 12"
    for text in ("", " ", "Ωmega\tÉé 漢字 🙂 <b x='1'>&lt;</b>\r\n", "\x00\u200b", "<" * 1000):
        assert isinstance(step(text), str)


def _command(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


UPPER = "import sys; sys.stdout.write(sys.stdin.read().upper())"


def test_a_command_runs_only_where_it_may(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    pipeline = Pipeline(preprocessing_command=_command(UPPER))
    assert not evidence_of(TEXTS, tokenizers=[good], pipeline=pipeline).preprocessing
    (effect,) = evidence_of(
        TEXTS, tokenizers=[good], pipeline=pipeline, run_commands=True
    ).preprocessing
    assert effect.n_tokens_after == sum(good.count(text.upper()) for text in TEXTS)
    assert effect.n_changed == 3


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("/no/such/program",), "is not found"),
        (_command("import sys; sys.exit('it broke')"), "ended with 1: it broke"),
        (_command("import sys; sys.stdout.buffer.write(b'\\xff')"), "not UTF-8"),
    ],
)
def test_a_command_that_fails_is_one_line(
    good: Tokenizer, command: tuple[str, ...], says: str
) -> None:
    pipeline = Pipeline(preprocessing_command=command)
    with pytest.raises(UsageError, match=says):
        audit(iter(TEXTS), tokenizers=[good], pipeline=pipeline, run_commands=True)
