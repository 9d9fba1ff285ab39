"""Names of models as people type them, and what is offered for those that mean several."""

from __future__ import annotations

import pytest

import jeton
from jeton._nearest import nearest
from jeton.errors import UnknownTokenizerError
from jeton.registry.model_families import family_of

TYPED = {
    "gpt4o": "o200k_base",
    "GPT4o-mini": "o200k_base",
    "GPT4o mini": "o200k_base",
    "ft:gpt-4o-mini:acme:contracts:9x": "o200k_base",
    "us.meta.llama3-1-70b-instruct-v1:0": "llama3",
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

GUESSES = ["llama3-banana", "meta-llama/llama3-banana", "gpt4o_base", "gpt-4o_base", "qwen2-mango"]
"""Names with a word that nobody publishes: their tokenizer may be another one."""


@pytest.mark.parametrize("typed", TYPED)
def test_a_typed_name_is_found(typed: str) -> None:
    family = family_of(typed)
    assert family is not None
    assert family.name == TYPED[typed]


@pytest.mark.parametrize("typed", ["gpt4all", "bert", "t5x", "gpt", "llama", *GUESSES])
def test_a_name_of_several_or_of_none_is_not_guessed(typed: str) -> None:
    assert family_of(typed) is None


def test_a_beginning_is_offered() -> None:
    assert nearest("t5", ["cl100k_base", "t5-small", "mt0"]) == ("t5-small",)


def test_a_guess_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(UnknownTokenizerError, match="llama3"):
        jeton.load("llama3-banana")
