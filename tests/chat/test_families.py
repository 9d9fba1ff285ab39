"""Ten families: on honest chats the text and the ids are those of transformers."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jeton._core import decompress, from_hf_json
from jeton.chat import ChatTemplate, encode_chat, encode_rendered
from tests.chat.families import FAMILIES, Family, conversations

FAMILY = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


@pytest.fixture(scope="session")
def transformers() -> Any:
    return importlib.import_module("transformers")


def reference(transformers: Any, family: Family) -> Any:
    from tokenizers import Tokenizer

    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(family.file),
        chat_template=family.source,
        **{f"{role}_token": text for role, text in family.special.items()},
    )
    return tokenizer


@pytest.mark.rivals
@FAMILY
def test_text_ids_and_masks_are_those_of_transformers(family: Family, transformers: Any) -> None:
    theirs = reference(transformers, family)
    for messages, options in conversations(family):
        expected = theirs.apply_chat_template(
            messages, return_dict=True, return_assistant_tokens_mask=True, **options
        )
        text = theirs.apply_chat_template(messages, tokenize=False, **options)
        encoded = encode_chat(messages, tokenizer=family.tok, template=family.template, **options)
        assert encoded.rendered.text == text
        assert encoded.ids.tolist() == expected["input_ids"]
        assert encoded.assistant_mask.astype(int).tolist() == expected["assistant_masks"]
        assert encoded.look_alikes == ()


@pytest.mark.rivals
@FAMILY
def test_continued_messages_are_those_of_transformers(family: Family, transformers: Any) -> None:
    theirs = reference(transformers, family)
    user = {"role": "user", "content": "the end"}
    for content in ("it is", "it is ", "", "  it\n"):
        messages = [user, {"role": "assistant", "content": content}]
        text = theirs.apply_chat_template(messages, tokenize=False, continue_final_message=True)
        rendered = family.template.render(messages, continue_final_message=True)
        assert rendered.text == text
        assert encode_rendered(rendered, tokenizer=family.tok).ids.tolist() == theirs.encode(
            text, add_special_tokens=False
        )


@FAMILY
def test_the_whole_is_what_encode_gives(family: Family) -> None:
    for messages, options in conversations(family):
        encoded = encode_chat(messages, tokenizer=family.tok, template=family.template, **options)
        text = encoded.rendered.text
        assert encoded.ids.tolist() == family.tok.encode(text, allow_special="all")


@FAMILY
def test_an_untrusted_template_gives_the_same(family: Family) -> None:
    named = {f"{role}_token": text for role, text in family.special.items()}
    untrusted = ChatTemplate.from_source(family.source, special_tokens=named)
    for messages, options in conversations(family):
        assert untrusted.render(messages, **options) == family.template.render(messages, **options)


@FAMILY
def test_the_template_wrote_the_control_tokens_and_not_the_messages(family: Family) -> None:
    messages = [{"role": "user", "content": "QQQ"}]
    encoded = encode_chat(
        messages, tokenizer=family.tok, template=family.template, add_generation_prompt=True
    )
    control = {
        t.id for t in family.tok.fixed_tokens() if t.content in family.control and t.content.strip()
    }
    is_control = np.isin(encoded.ids, sorted(control))
    assert is_control.sum() >= 1
    assert encoded.template_mask[is_control].all()
    text = encoded.rendered.text
    for start, end, own in zip(encoded.starts, encoded.ends, encoded.template_mask, strict=True):
        assert not (own and "Q" in text[start:end])
    data = "".join(
        text[a:b]
        for (_, a), (b, _) in zip(
            [(0, 0), *encoded.rendered.trusted_spans],
            [*encoded.rendered.trusted_spans, (len(text), 0)],
            strict=True,
        )
    )
    assert data == "QQQ"


PUBLISHED = {
    "llama2": "llama2.json.zst",
    "mistral_v3": "mistral03.json.zst",
    "phi3": "phi-3-mini.json.zst",
    "deepseek_r1": "deepseek_v3.recon.json.zst",
}


@pytest.mark.rivals
@pytest.mark.conformance
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_vocabularies(name: str, shared: Path, transformers: Any) -> None:
    """The families' own tokenizers, as they were published: ids of transformers, and no attack."""
    from tokenizers import Tokenizer

    family = FAMILIES[name]
    data = decompress((shared / "data" / "vocab" / PUBLISHED[name]).read_bytes())
    tok = from_hf_json(data)
    named = {f"{role}_token": text for role, text in family.special.items()}
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(data.decode()), chat_template=family.source, **named
    )
    for messages, options in conversations(family):
        expected = theirs.apply_chat_template(
            messages, return_dict=True, return_assistant_tokens_mask=True, **options
        )
        encoded = encode_chat(messages, tokenizer=tok, template=family.template, **options)
        assert encoded.ids.tolist() == expected["input_ids"]
        assert encoded.assistant_mask.astype(int).tolist() == expected["assistant_masks"]
    honest = encode_chat(
        [{"role": "user", "content": "a"}], tokenizer=tok, template=family.template
    )
    special = set(tok.special_tokens.values()) - {tok.special_tokens.get("<unk>")}
    for token in tok.special_tokens:
        if token == "<unk>":
            continue
        messages = [{"role": "user", "content": f"a{token}b{token}{token}"}]
        encoded = encode_chat(messages, tokenizer=tok, template=family.template)
        own = [number for number in encoded.ids.tolist() if number in special]
        assert own == [number for number in honest.ids.tolist() if number in special]
        assert {look.token for look in encoded.look_alikes} >= {token}
