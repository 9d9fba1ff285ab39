"""Conversions: results, refusals, and what comes along."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton._core import from_hf_json, from_tiktoken
from jeton.converting import Conversion, convert
from jeton.errors import FormatError, LossyConversionError, UsageError
from jeton.formats import save_file
from tests.formats import small


def test_to_a_tokenizer_json_and_back(tmp_path: Path) -> None:
    source = small.tokenizer()
    there = convert(source, tmp_path / "x.json")
    assert isinstance(there, Conversion)
    assert there.losses == ()
    assert there.ids_equal is True
    assert there.n_texts_compared > 1000
    assert not there.fingerprint_preserved
    # Nothing is lost; what changed the fingerprint is said.
    assert {"reference", "model"} <= {rewording.component for rewording in there.rewordings}
    assert there.to_dict()["rewordings"][0]["why"]
    assert there.load_options == {}
    back = convert(tmp_path / "x.json", tmp_path / "y.tiktoken")
    assert back.ids_equal is True
    assert (tmp_path / "y.tiktoken").read_bytes() == small.ranks()
    assert back.load_options["special_tokens"] == small.SPECIAL
    again = jeton.load(tmp_path / "y.tiktoken", **back.load_options)
    assert again.encode("hello world!") == source.encode("hello world!")


def test_a_lossy_conversion_is_refused_unless_it_is_allowed(tmp_path: Path) -> None:
    source = small.tokenizer()
    with pytest.raises(LossyConversionError) as caught:
        convert(source, tmp_path / "claude.json")
    assert [loss.component for loss in caught.value.losses] == ["normalizer"]
    assert not list(tmp_path.iterdir())
    result = convert(source, tmp_path / "claude.json", lossy=True)
    assert [loss.component for loss in result.losses] == ["normalizer"]
    assert result.ids_equal is False
    assert result.first_difference is not None
    value = json.loads(json.dumps(result.to_dict()))
    assert value["schema_version"] == "jeton.convert/1"
    assert value["losses"][0]["effect"]


def test_a_difference_that_no_writer_knows_of_is_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A reader that gives other ids than the writer meant: nothing is written.
    from jeton.formats import saving

    other = from_tiktoken(small.ranks(), pattern="[a-z]|[^a-z]")
    monkeypatch.setattr(saving, "load_file", lambda *_, **__: other)
    with pytest.raises(LossyConversionError, match="something that shows in"):
        convert(small.tokenizer(), tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


def test_chat_templates_and_roles_come_along(tmp_path: Path) -> None:
    source = tmp_path / "source"
    save_file(small.tokenizer(), source)
    config = json.loads((source / "tokenizer_config.json").read_bytes())
    config["eos_token"] = "<|end|>"
    config["model_max_length"] = 77
    (source / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    (source / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    more = source / "additional_chat_templates"
    more.mkdir()
    (more / "tool_use.jinja").write_text("{{ tools }}", encoding="utf-8")
    convert(source, tmp_path / "target")
    found = jeton.formats.read_folder(tmp_path / "target")
    assert found.roles == {"eos": "<|end|>"}
    assert found.model_max_length == 77
    assert found.chat_template == "{{ messages }}"
    assert dict(found.other_chat_templates) == {"tool_use": "{{ tools }}"}


def test_texts_of_the_callers_choice(tmp_path: Path) -> None:
    source = small.tokenizer()
    one = convert(source, tmp_path / "a.json", verify=["hello", "world"])
    assert one.n_texts_compared == 2
    none = convert(source, tmp_path / "b.json", verify=False)
    assert none.ids_equal is None
    same = convert(source, tmp_path / "c.jeton.json", verify=False)
    assert same.ids_equal is True
    assert same.fingerprint_preserved
    assert same.rewordings == ()


@pytest.mark.parametrize("verify", ["hello", b"x", [], [1], [None]])
def test_texts_to_compare_must_be_texts(tmp_path: Path, verify: object) -> None:
    with pytest.raises(UsageError, match="verify must be"):
        convert(small.tokenizer(), tmp_path / "a.json", verify=verify)  # type: ignore[arg-type]


def test_options_of_the_source_need_a_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="say how a file is read"):
        convert(small.tokenizer(), tmp_path / "a.json", pattern="gpt2")


def test_a_rank_file_with_its_pattern(tmp_path: Path) -> None:
    path = tmp_path / "mine.tiktoken"
    path.write_bytes(small.ranks())
    with pytest.raises(FormatError, match="split pattern"):
        convert(path, tmp_path / "a.json")
    result = convert(path, tmp_path / "a.json", pattern=small.PATTERN, special_tokens=small.SPECIAL)
    assert result.ids_equal is True
    loaded = jeton.load(tmp_path / "a.json")
    assert loaded.special_tokens == small.SPECIAL


@pytest.mark.parametrize(
    "source", ["", "no-such-name", "missing/x.json", "\0", b"x.json", 3, "x.json\n"]
)
def test_sources_that_are_none(tmp_path: Path, source: Any) -> None:
    with pytest.raises((jeton.JetonError, OSError, ValueError)):
        convert(source, tmp_path / "a.json")
    assert not list(tmp_path.iterdir())


def test_a_target_in_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    convert(small.tokenizer(), tmp_path / "deep" / "er" / "a.tiktoken")
    assert (tmp_path / "deep" / "er" / "a.tiktoken").is_file()


def test_a_target_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file"):
        convert(small.tokenizer(), tmp_path / "file" / "a.tiktoken")


def test_onto_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    save_file(from_hf_json(small.tokenizer().to_hf_json()), path)
    before = jeton.load(path).fingerprint
    result = convert(path, path)
    assert result.fingerprint_preserved
    assert jeton.load(path).fingerprint == before
