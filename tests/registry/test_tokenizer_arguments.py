"""Functions that take a tokenizer: a name, a path and an object give equal results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton import adapt, chat, doctor
from jeton.registry import TokenizerLike

NAME = "jeton-general-32k-v1"
TEXTS = ["a first note about glioblastoma", "a second one, somewhat longer than the first"]
TEMPLATE = chat.ChatTemplate.from_source(
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
)
CHAT = [{"role": "user", "content": "hello"}]

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "probe_digest": jeton.probe_digest,
    "cut_into_chunks": lambda t: doctor.cut_into_chunks(TEXTS, tokenizer=t, max_tokens=3),
    "retrieval_fit": lambda t: doctor.retrieval_fit(
        TEXTS, reader=t, embedder=t, embedder_max_tokens=6
    ),
    "encode_chat": lambda t: chat.encode_chat(CHAT, tokenizer=t, template=TEMPLATE).ids.tolist(),
    "encode_chats": lambda t: [
        one.ids.tolist() for one in chat.encode_chats([CHAT], tokenizer=t, template=TEMPLATE)
    ],
    "encode_rendered": lambda t: chat.encode_rendered(
        TEMPLATE.render(CHAT), tokenizer=t
    ).ids.tolist(),
    "common_prefix": lambda t: chat.common_prefix(
        CHAT, CHAT, tokenizer=t, template=TEMPLATE
    ).ids.tolist(),
    "control_tokens": lambda t: chat.control_tokens(["<|x|>"], tokenizer=t),
    "extend": lambda t: adapt.extend(base=t, terms=["glioblastoma"]).new_tokens,
    "prune": lambda t: adapt.prune(iter(TEXTS), base=t, n_tokens=31_990).removed,
}


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> list[TokenizerLike]:
    """Returns one tokenizer as object, name, path and path in a string."""
    tokenizer = jeton.load(NAME)
    path: Path = tmp_path_factory.mktemp("forms") / "tokenizer.json"
    tokenizer.save(path)
    return [tokenizer, NAME, path, str(path)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_form_gives_the_same(name: str, forms: list[TokenizerLike]) -> None:
    first, *others = [FUNCTIONS[name](form) for form in forms]
    assert others == [first] * len(others)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_another_object_is_refused_by_name_of_its_argument(name: str) -> None:
    with pytest.raises(jeton.UsageError, match=r"^(tokenizer|reader|base) is 7 \(int\); expected"):
        FUNCTIONS[name](7)
