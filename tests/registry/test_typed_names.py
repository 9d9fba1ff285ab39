"""Names of models as people type them, and what is offered for those that mean several."""

from __future__ import annotations

import pytest

import jeton
from jeton._nearest import nearest
from jeton.catalog import price_names
from jeton.compat.tiktoken import encoding_name_for_model
from jeton.economics.billing.closed import stand_in
from jeton.errors import UnknownModelError, UnknownTokenizerError
from jeton.registry.model_families import family_of

TYPED = {
    "gpt4o": "o200k_base",
    "GPT4o-mini": "o200k_base",
    "GPT4o mini": "o200k_base",
    "ft:gpt-4o-mini:acme:contracts:9x": "o200k_base",
    "us.meta.llama3-1-70b-instruct-v1:0": "llama3",
    "gpt-5-2025-08-07": "o200k_base",
    "gpt-5-mini": "o200k_base",
    "azure/gpt-35-turbo-16k": "cl100k_base",
    "gpt4": "cl100k_base",
    "gpt35-turbo": "cl100k_base",
    "gpt-4": "cl100k_base",
    "openai/gpt-4o": "o200k_base",
    "llama-3.1-8b": "llama3",
    "meta-llama/Llama-3.1-8B-Instruct": "llama3",
    "qwen2.5": "qwen2",
    "Qwen/Qwen2.5-7B": "qwen2",
    "t5": "t5-small",
    "flan-t5": "t5-small",
    "roberta": "roberta-base",
    "distilbert-base-uncased": "bert_base_uncased",
}

GUESSES = [
    "llama3-banana", "meta-llama/llama3-banana", "gpt4o_base", "gpt-4o_base", "qwen2-mango",
    "gpt-5-banana", "openai/gpt-4o-acme", "ft:banana-5:acme::9x", "o3-banana",
]  # fmt: skip
"""Names with a word that nobody publishes: their tokenizer may be another one."""


@pytest.mark.parametrize("typed", TYPED)
def test_a_typed_name_is_found(typed: str) -> None:
    family = family_of(typed)
    assert family is not None
    assert family.name == TYPED[typed]


def test_listed_models_of_openai_are_no_guesses() -> None:
    """Each model of the price list whose encoding tiktoken knows is known by the same one."""
    listed = [name.partition(":")[2] for name in price_names() if name.startswith("openai:")]
    for model in listed:
        try:
            encoding = encoding_name_for_model(model)
        except KeyError:
            continue
        family = family_of(model)
        assert family is not None, model
        assert family.name == encoding, model


@pytest.mark.parametrize("typed", ["gpt4all", "bert", "t5x", "gpt", "llama", *GUESSES])
def test_a_name_of_several_or_of_none_is_not_guessed(typed: str) -> None:
    assert family_of(typed) is None


def test_a_beginning_is_offered() -> None:
    assert nearest("t5", ["cl100k_base", "t5-small", "mt0"]) == ("t5-small",)


@pytest.mark.parametrize(
    ("typed", "near"), [("llama3-banana", "llama3"), ("gpt-5-banana", "gpt-5")]
)
def test_a_guess_is_an_error_with_the_nearest_name(typed: str, near: str) -> None:
    with pytest.raises(UnknownTokenizerError, match=rf"{near}\b(?!-banana)"):
        jeton.load(typed)


@pytest.mark.parametrize("typed", ["gpt-5-banana", "claude-sonnet-4-banana", "gemini-2-mango"])
def test_no_public_tokenizer_stands_in_for_a_guess(typed: str) -> None:
    with pytest.raises(UnknownModelError, match="no public tokenizer is known"):
        stand_in(typed)
