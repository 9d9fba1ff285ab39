"""Nobody but the template writes a token with a role, in drawn folders."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton._core import from_hf_json
from jeton.chat import ChatTemplate, encode_chat

WORDS = ("?", "apples", "pears", "and")
TEXTS = ("<end>", "[STOP]", "FINISH", "</turn>", "<|over|>")
ROLES = ("bos", "eos", "sep", "pad", "cls", "mask", None, "additional", "generation")


@st.composite
def folders(draw: st.DrawFn) -> dict[str, Any]:
    """A tokenizer whose tokens have roles in different places, with any flags."""
    texts = draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3, unique=True))
    tokens = []
    for text in texts:
        role = draw(st.sampled_from(ROLES))
        tokens.append(
            {
                "text": text,
                "role": role,
                "special": draw(st.booleans()),
                "normalized": draw(st.booleans()),
                "listed": draw(st.booleans()) or role in (None, "generation"),
                "in_map": draw(st.booleans()),
            }
        )
    return {"tokens": tokens, "user": draw(st.lists(st.sampled_from(WORDS[1:] + TEXTS)))}


def _write(drawn: dict[str, Any], folder: Path) -> None:
    vocab = {word: number for number, word in enumerate(WORDS)}
    added: list[dict[str, Any]] = []
    config: dict[str, Any] = {}
    tokens_map: dict[str, Any] = {}
    generation: dict[str, Any] = {}
    for token in drawn["tokens"]:
        number = len(vocab) + len(added)
        if token["listed"]:
            flags = {"single_word": False, "lstrip": False, "rstrip": False}
            added.append(
                {
                    "id": number,
                    "content": token["text"],
                    "special": token["special"],
                    "normalized": token["normalized"],
                    **flags,
                }
            )
        where: dict[str, Any] = tokens_map if token["in_map"] else config
        if token["role"] == "additional":
            where.setdefault("additional_special_tokens", []).append(token["text"])
        elif token["role"] == "generation":
            generation.setdefault("eos_token_id", []).append(number)
        elif token["role"] is not None:
            where[f"{token['role']}_token"] = token["text"]
    model = {"type": "WordLevel", "vocab": vocab, "unk_token": "?"}
    tree = {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": model,
    }
    files = {
        "tokenizer.json": tree,
        "tokenizer_config.json": config,
        "special_tokens_map.json": tokens_map,
        "generation_config.json": generation,
    }
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value))


@settings(max_examples=60, deadline=None)
@given(folders())
def test_a_user_types_no_token_with_a_role(drawn: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(drawn, folder)
        tok = jeton.load(folder)
    by_text = {token.content: token for token in tok.added_tokens}
    # Of two tokens with one role, or in two files, one counts.
    named: dict[str, str] = {}
    for token in drawn["tokens"]:
        role, text = token["role"], token["text"]
        if role in (None, "additional"):
            continue
        if role == "generation":
            assert by_text[text].special
            assert by_text[text].id in tok.end_token_ids
        elif text in by_text and by_text[text].special:
            named[f"{role}_token"] = text
    user = " ".join(drawn["user"])
    special = set(tok.special_tokens.values())
    # Plain text makes none of them, and a decoding that skips them has none.
    assert not special & set(tok.encode(user))
    everything = tok.encode(user, allow_special="all")
    assert not any(
        text in tok.decode(everything, skip_special_tokens=True) for text in named.values()
    )
    written = "".join(f"{{{{ {name} }}}} " for name in named)
    template = ChatTemplate.from_source(
        "{{ messages[0].content }} " + written, special_tokens=named, is_trusted=True
    )
    chat = encode_chat([{"role": "user", "content": user}], tokenizer=tok, template=template)
    for text in named.values():
        number = by_text[text].id
        n_written = list(named.values()).count(text)
        assert int((chat.ids == number).sum()) == n_written
        assert (text in drawn["user"]) == any(look.token == text for look in chat.look_alikes)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(TEXTS),
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from(WORDS[1:] + TEXTS), max_size=6),
)
def test_the_template_alone_knows_the_role(
    text: str, listed: bool, normalized: bool, words: list[str]
) -> None:
    """A tokenizer.json without its folder: what the template calls eos_token is one."""
    vocab = {word: number for number, word in enumerate((*WORDS, text))}
    added = {
        "id": len(WORDS),
        "content": text,
        "special": False,
        "normalized": normalized,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
    }
    tree = {
        "version": "1.0",
        "added_tokens": [added] if listed else [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "?"},
    }
    tok = from_hf_json(json.dumps(tree).encode())
    template = ChatTemplate.from_source(
        "{{ messages[0].content }} {{ eos_token }}",
        special_tokens={"eos_token": text},
        is_trusted=True,
    )
    chat = encode_chat(
        [{"role": "user", "content": " ".join(words)}], tokenizer=tok, template=template
    )
    assert chat.ids.tolist().count(len(WORDS)) == 1
    assert chat.ids.tolist()[-1] == len(WORDS)
