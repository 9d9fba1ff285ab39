"""A tokenizer that is made of a model's one keeps what that model's folder says beside the ids."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import jeton
from jeton.adapt.extending import extend
from jeton.adapt.pruning import prune
from jeton.adapt.reading import Reading
from jeton.adapt.saving import adapted_target, save_adapted
from jeton.adapt.weights import apply
from jeton.formats.model_settings import inherit, settings_of
from tests.adapt import tiny

TEXT = ["a harbour pilot boards the ship before the harbour"] * 9
TEMPLATE = "{% for m in messages %}<|turn|>{{ m.content }}<|over|>{% endfor %}"
ALL = Reading(hold_out=0)


def base_in(folder: Path, *, template_beside: bool) -> jeton.Tokenizer:
    specials = ["<|endoftext|>", "<|turn|>", "<|over|>"]
    made = jeton.train(iter(TEXT), vocab_size=275, special_tokens=specials)
    folder.mkdir()
    made.save(folder / "tokenizer.json")
    config = {
        "eos_token": "<|over|>", "pad_token": "<|endoftext|>", "model_max_length": 77,
        "padding_side": "left", "tokenizer_class": "PreTrainedTokenizerFast",
    }  # fmt: skip
    if template_beside:
        (folder / "chat_template.jinja").write_text(TEMPLATE)
    else:
        config["chat_template"] = TEMPLATE
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return jeton.load(folder)


@pytest.mark.parametrize("template_beside", [True, False])
@pytest.mark.parametrize("way", ["extended", "pruned", "pruned after that"])
def test_settings_of_the_folder_stay(way: str, template_beside: bool, tmp_path: Path) -> None:
    base = base_in(tmp_path / "base", template_beside=template_beside)
    if way == "pruned":
        pruned = prune(iter(TEXT), base=base, n_tokens=265, reading=ALL)
        tokenizer, change = pruned.tokenizer, pruned.change
    else:
        found = extend(base=base, terms=["lighthouse"], reading=ALL)
        tokenizer, change = found.tokenizer, found.change
        if way == "pruned after that":
            pruned = prune(iter(TEXT), base=tokenizer, n_tokens=270, reading=ALL)
            tokenizer, change = pruned.tokenizer, pruned.change
    save_adapted(tokenizer, change, adapted_target(base, str(tmp_path / "new")))
    config = json.loads((tmp_path / "new" / "tokenizer_config.json").read_text())
    assert config["eos_token"] == "<|over|>"
    assert config["pad_token"] == "<|endoftext|>"
    assert config["model_max_length"] == 77
    assert config["padding_side"] == "left"
    assert (tmp_path / "new" / "chat_template.jinja").read_text() == TEMPLATE
    specials = {token["content"]: int(id) for id, token in config["added_tokens_decoder"].items()}
    assert specials == tokenizer.special_tokens


def test_a_model_keeps_settings_that_the_new_tokenizer_does_not_know(tmp_path: Path) -> None:
    """The tokenizer was made from the file alone: its folder knows of no limit and template."""
    base_in(tmp_path / "model", template_beside=False)
    rng = np.random.default_rng(1)
    base = jeton.load(tmp_path / "model" / "tokenizer.json")
    rows = tiny.stored("F32", tiny.random_values(rng, [base.vocab_size, 4]))
    tiny.write_safetensors(
        tmp_path / "model" / "model.safetensors", {"model.embed_tokens.weight": rows}, None
    )
    config = {"model_type": "llama", "vocab_size": base.vocab_size}
    own = json.loads((tmp_path / "model" / "tokenizer_config.json").read_text())
    own["clean_up_tokenization_spaces"] = True
    (tmp_path / "model" / "tokenizer_config.json").write_text(json.dumps(own))
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    found = extend(base=base, terms=["lighthouse"], reading=ALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save_adapted(found.tokenizer, found.change, adapted_target(base, f"{tmp_path / 't'}/"))
    assert "model_max_length" not in json.loads(
        (tmp_path / "t" / "tokenizer_config.json").read_text()
    )
    apply(tmp_path / "model", tmp_path / "t", output=tmp_path / "o")
    written = json.loads((tmp_path / "o" / "tokenizer_config.json").read_text())
    assert written["model_max_length"] == 77
    assert written["padding_side"] == "left"
    assert written["clean_up_tokenization_spaces"] is True
    assert written["chat_template"] == TEMPLATE
    # The usual texts would make <|endoftext|> the end; the model's folder says another one.
    assert (written["eos_token"], written["pad_token"]) == ("<|over|>", "<|endoftext|>")
    assert "bos_token" not in written
    assert not (tmp_path / "o" / "special_tokens_map.json").exists()
    ids = {token["content"]: int(id) for id, token in written["added_tokens_decoder"].items()}
    assert ids == found.tokenizer.special_tokens
    # A template that the new tokenizer brings counts.
    (tmp_path / "t" / "chat_template.jinja").write_text("other")
    apply(tmp_path / "model", tmp_path / "t", output=tmp_path / "p")
    written = json.loads((tmp_path / "p" / "tokenizer_config.json").read_text())
    assert "chat_template" not in written
    assert (tmp_path / "p" / "chat_template.jinja").read_text() == "other"


def test_ids_of_the_configuration_tell_roles_that_no_file_of_tokens_tells(tmp_path: Path) -> None:
    base = base_in(tmp_path / "model", template_beside=False)
    (tmp_path / "model" / "tokenizer_config.json").unlink()
    rng = np.random.default_rng(1)
    rows = tiny.stored("F32", tiny.random_values(rng, [base.vocab_size, 4]))
    tiny.write_safetensors(
        tmp_path / "model" / "model.safetensors", {"model.embed_tokens.weight": rows}, None
    )
    ids = base.special_tokens
    ends = [ids["<|over|>"], ids["<|turn|>"]]
    config = {"model_type": "llama", "vocab_size": base.vocab_size, "eos_token_id": ends}
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    base = jeton.load(tmp_path / "model")
    found = extend(base=base, terms=["lighthouse"], reading=ALL)
    save_adapted(found.tokenizer, found.change, adapted_target(base, f"{tmp_path / 't'}/"))
    apply(tmp_path / "model", tmp_path / "t", output=tmp_path / "o")
    written = json.loads((tmp_path / "o" / "tokenizer_config.json").read_text())
    # The usual texts would make <|endoftext|> the end.
    assert written["eos_token"] == "<|over|>"
    assert jeton.load(tmp_path / "o").special_tokens == found.tokenizer.special_tokens


def test_a_role_whose_token_is_gone_is_not_written(tmp_path: Path) -> None:
    base = base_in(tmp_path / "base", template_beside=True)
    other = jeton.train(iter(TEXT), vocab_size=260, special_tokens=["<|over|>"])
    inherit(other, base)
    settings = settings_of(other)
    assert settings is not None
    assert settings.roles == {"eos": "<|over|>"}
    assert settings.chat_template == TEMPLATE
