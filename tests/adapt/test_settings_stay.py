"""A tokenizer that is made of a model's one keeps what that model's folder says beside the ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jeton
from jeton.adapt.extending import extend
from jeton.adapt.pruning import prune
from jeton.adapt.reading import Reading
from jeton.adapt.saving import adapted_target, save_adapted
from jeton.formats.model_settings import settings_of
from jeton.formats.origins import inherit

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
def test_settings_of_the_folder_stay(way: str, template_beside: bool, tmp_path: Path) -> None:  # noqa: FBT001
    base = base_in(tmp_path / "base", template_beside=template_beside)
    if way == "pruned":
        pruned = prune(base, iter(TEXT), n_tokens=265, reading=ALL)
        tokenizer, change = pruned.tokenizer, pruned.change
    else:
        found = extend(base, terms=["lighthouse"], reading=ALL)
        tokenizer, change = found.tokenizer, found.change
        if way == "pruned after that":
            pruned = prune(tokenizer, iter(TEXT), n_tokens=270, reading=ALL)
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


def test_a_role_whose_token_is_gone_is_not_written(tmp_path: Path) -> None:
    base = base_in(tmp_path / "base", template_beside=True)
    other = jeton.train(iter(TEXT), vocab_size=260, special_tokens=["<|over|>"])
    inherit(other, base)
    settings = settings_of(other)
    assert settings is not None
    assert settings.roles == {"eos": "<|over|>"}
    assert settings.chat_template == TEMPLATE
