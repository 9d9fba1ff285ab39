"""Functions that take a tokenizer: a name, a path and an object give equal results."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton import adapt, chat, chunking, doctor, metrics, pretokenizing, training
from jeton.adapt.shadowing import Side, shadow
from jeton.adapt.slot_worth import free_slots
from jeton.corpus import open_documents
from jeton.estimating.bounds import token_bounds
from jeton.estimating.learning import learn_from_texts
from jeton.estimating.sampled import sampled_count
from jeton.planning import NestedVocabularies
from jeton.registry import TokenizerLike
from jeton.tracing import trace_encode

NAME = "jeton-general-32k-v1"
N_IDS = 32_000
TEXTS = ["a first note about glioblastoma", "a second one, somewhat longer than the first"]
TEMPLATE = chat.ChatTemplate.from_source(
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
)
CHAT = [{"role": "user", "content": "hello"}]

GOLD = [metrics.GoldWord("unhappy", ("un", "happy")), metrics.GoldWord("houses", ("house", "s"))]
ALIGNED = [("de", "Ein kleines Haus", "A small house")]
SOURCES = ["def area(width, height):\n    return width * height\n"]
PARAGRAPHS = [f"Paragraph {n} tells of {n % 7} houses and {n % 5} trees." for n in range(60)]
# An id is used as often as its number says, by the last two digits.
USED = (np.arange(N_IDS) % 100).astype(np.uint64)


def _embedded(tokenizer: Any) -> list[list[float]]:
    vectors = np.arange(4 * N_IDS, dtype=np.float32).reshape(N_IDS, 4)
    rows: list[list[float]] = chunking.StaticEmbedder(tokenizer, vectors)(TEXTS).tolist()
    return rows


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "boundary_scores": lambda t: metrics.boundary_scores(t, GOLD),
    "code_use": lambda t: metrics.code_use(t, SOURCES, language="python"),
    "cut_term": lambda t: metrics.cut_term(t, "glioblastoma"),
    "ngram_bits_per_byte": lambda t: metrics.ngram_bits_per_byte(t, PARAGRAPHS),
    "parity": lambda t: metrics.parity(t, ALIGNED),
    "stability": lambda t: metrics.stability(t, TEXTS),
    "undertrained_tokens": lambda t: metrics.undertrained_tokens(t, USED).n_absent,
    "vocabulary_use": lambda t: metrics.vocabulary_use(t, USED),
    "language_premiums": doctor.language_premiums,
    "shadow": lambda t: shadow(iter(TEXTS), Side(t), Side(t), stages=[100]),
    "free_slots": free_slots,
    "adapted_target": lambda t: adapt.adapted_target(t, "folder/").format,
    "VocabularyChange.identity": lambda t: adapt.VocabularyChange.identity(t).old_of.sum(),
    "VocabularyChange.between": lambda t: adapt.VocabularyChange.between(t, t).old_of.sum(),
    "StaticEmbedder": _embedded,
    "evaluate_chunks": lambda t: chunking.evaluate_chunks(
        "The cat sat. The dog ran.",
        [(0, 13), (13, 25)],
        [chunking.Question("Where was the cat?", ((4, 12),))],
        tokenizer=t,
        k=1,
    ),
    "heldout_bytes_per_token": lambda t: training.heldout_bytes_per_token(
        t, open_documents(iter(TEXTS))
    ),
    "NestedVocabularies": lambda t: NestedVocabularies.of(t).n_base,
    "SegmentedTokenizer": lambda t: pretokenizing.SegmentedTokenizer(
        t, segmenter=lambda pretoken: [pretoken[:2], pretoken[2:]]
    ).encode("a glioblastoma"),
    "trace_encode": lambda t: trace_encode(t, "a low note").ids,
    "token_bounds": lambda t: token_bounds(t, TEXTS[0]),
    "learn_from_texts": lambda t: learn_from_texts(["".join(PARAGRAPHS)] * 80, t).count(TEXTS[0]),
    "sampled_count": lambda t: sampled_count(
        t, lambda a, b: "".join(PARAGRAPHS).encode()[a:b], 2_000
    ),
    "preprocess_texts": lambda t: (
        jeton.preprocess_texts(['{"id": 1,  "name": "Ada"}'], steps="json", tokenizer=t).texts
    ),
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
    with pytest.raises(jeton.UsageError, match=r"^(tokenizer|reader|base|old) is 7 \(int\);"):
        FUNCTIONS[name](7)


TAKES_AN_OBJECT = {
    # Below the layer that knows names.
    "formats.expressible",
    "formats.save_file",
    "formats.to_bytes",
    # Results and facts that features hand on.
    *(f"adapt.{name}.__init__" for name in ("Extended", "Pruned")),
    *(f"doctor.{name}.__init__" for name in ("Embedder", "Patient")),
    *(f"locking.{name}.of" for name in ("Behaviour", "LockedTokenizer")),
    *(f"planning.{name}.__init__" for name in ("CostAware", "NestedVocabularies")),
    *(f"training.{name}.__init__" for name in ("ContinuedTokenizer", "Learned")),
    "training.TrainingCard.of",
}


def _public_functions() -> Iterator[tuple[str, types.FunctionType]]:
    """Functions and methods that a package of features exports, by package and name."""
    for found in pkgutil.iter_modules(jeton.__path__):
        if not found.ispkg or found.name.startswith("_") or found.name in ("cli", "compat"):
            continue
        package = importlib.import_module(f"jeton.{found.name}")
        for name in getattr(package, "__all__", ()):
            value = getattr(package, name)
            if inspect.isfunction(value):
                yield f"{found.name}.{name}", value
            elif inspect.isclass(value):
                for key, member in vars(value).items():
                    function = getattr(member, "__func__", member)
                    is_private = key.startswith("_") and not key.startswith("__")
                    if inspect.isfunction(function) and not is_private:
                        yield f"{found.name}.{name}.{key}", function


def test_every_public_function_takes_every_form() -> None:
    takes_an_object = {
        name
        for name, function in _public_functions()
        for argument, kind in function.__annotations__.items()
        if argument != "return" and re.match(r"Tokenizer\b", str(kind))
    }
    assert takes_an_object == TAKES_AN_OBJECT
