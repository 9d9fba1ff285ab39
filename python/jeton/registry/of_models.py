"""From the name of a model, or its ``config.json``, to the vocabulary that it reads text with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jeton._foreign import json_of
from jeton.errors import UnknownTokenizerError
from jeton.registry.finding import find
from jeton.registry.model_families import SharedTokenizer, family_of, is_not_public

CONFIG = "config.json"

_TEXT_CONFIGS = ("text_config", "llm_config", "language_config")
"""Where models that also see or hear keep the configuration of their language model."""

_ROWS_OF_TYPE: dict[str, tuple[tuple[range, str], ...]] = {
    "llama": (
        (range(31_999, 32_017), "llama-2-7b"),
        (range(32_768, 32_769), "mistral-7b-v0.3"),
        (range(128_000, 128_300), "llama-3-8b"),
        (range(64_000, 64_001), "yi-34b"),
    ),
    "mistral": (
        (range(31_999, 32_003), "mistral-7b-v0.1"),
        (range(32_768, 32_769), "mistral-7b-v0.3"),
        (range(131_072, 131_073), "mistral-nemo-12b"),
    ),
    "mistral3": ((range(131_072, 131_073), "mistral-nemo-12b"),),
    "mixtral": (
        (range(31_999, 32_003), "mixtral-8x7b-v0.1"),
        (range(32_768, 32_769), "mixtral-8x22b-instruct"),
    ),
    "llama4": ((range(200_000, 202_100), "llama-4"),),
    "llama4_text": ((range(200_000, 202_100), "llama-4"),),
    "qwen2": ((range(151_600, 152_100), "qwen2.5-7b"),),
    "qwen2_moe": ((range(151_600, 152_100), "qwen2.5-7b"),),
    "qwen3": ((range(151_600, 152_100), "qwen3-8b"),),
    "qwen3_moe": ((range(151_600, 152_100), "qwen3-8b"),),
    "qwen3_next": ((range(151_600, 152_100), "qwen3-8b"),),
    "gemma": ((range(256_000, 256_001), "gemma-2-9b"),),
    "gemma2": ((range(256_000, 256_001), "gemma-2-9b"),),
    "gemma3": ((range(262_144, 262_209), "gemma-3-4b"),),
    "gemma3_text": ((range(262_144, 262_209), "gemma-3-4b"),),
    "gpt2": ((range(50_257, 50_305), "gpt2"),),
    "gpt_oss": ((range(201_088, 201_089), "gpt-oss-20b"),),
    "gpt_neox": ((range(50_254, 50_689), "pythia-6.9b"),),
    "deepseek_v2": ((range(102_400, 102_401), "deepseek-v2"),),
    "deepseek_v3": ((range(129_280, 129_281), "deepseek-v3"),),
    "kimi_k2": ((range(163_840, 163_841), "kimi-k2"),),
    "phi3": (
        (range(32_064, 32_065), "phi-3-mini-4k"),
        (range(100_352, 100_353), "phi-4"),
        (range(200_064, 200_065), "phi-4-mini"),
    ),
    "smollm3": ((range(128_256, 128_257), "smollm3-3b"),),
    "olmo2": ((range(100_278, 100_353), "olmo-2-7b"),),
    "falcon": ((range(65_024, 65_025), "falcon-7b"),),
    "gpt_bigcode": ((range(49_152, 49_153), "starcoderbase"),),
    "jamba": ((range(65_536, 65_537), "jamba-v0.1"),),
}
"""By ``model_type`` and ``vocab_size``: a model with that tokenizer."""


def at_hand(family: SharedTokenizer) -> str | None:
    """The first vocabulary of a family that is at hand; None where none is."""
    return next((name for name in family.vocabularies if find(name) is not None), None)


def vocabulary_of_model(model: str, *, download: bool = False) -> str | None:
    """The name of a model's vocabulary, at hand; None where the model is not known.

    Args:
        model: Its name, as its provider or a hub writes it.
        download: True if a published vocabulary will do that is not at hand.

    Raises:
        UnknownTokenizerError: The vocabulary is known and not at hand, or not public.
    """
    family = family_of(model)
    if family is not None:
        found = at_hand(family)
        if found is None and download:
            found = next((name for name in family.vocabularies if _can_be_fetched(name)), None)
        if found is None:
            raise _missing(model, family)
        return found
    if is_not_public(model):
        raise _error(
            model,
            f"the tokenizer of {model!r} is not public\n"
            "hint: an audit counts for it with a public stand-in: give the model as --price-model, "
            "without --tokenizer",
        )
    return None


def vocabulary_of_config(path: Path) -> str | None:
    """The vocabulary that a model's ``config.json``, or the folder of one, means.

    None where the configuration does not say.

    Raises:
        UnknownTokenizerError: It is known and not at hand.
    """
    # A folder's own tokenizer, where it has one, is the business of whoever asks.
    place = path / CONFIG if path.is_dir() else path
    if place.name != CONFIG or not place.is_file():
        return None
    try:
        config = json_of(place.read_text(encoding="utf-8"))
    except ValueError:
        return None
    name = _model_of(config) if isinstance(config, dict) else None
    return None if name is None else vocabulary_of_model(name)


def _model_of(config: dict[str, Any]) -> str | None:
    """A model with the configuration's tokenizer."""
    parts = [config, *(config[key] for key in _TEXT_CONFIGS if isinstance(config.get(key), dict))]
    # The shape says more than a name: the folder of a model may be called anything.
    for part in reversed(parts):
        rows = part.get("vocab_size")
        for known, model in _ROWS_OF_TYPE.get(str(part.get("model_type")), ()):
            if isinstance(rows, int) and rows in known:
                return model
    for part in parts:
        name = part.get("_name_or_path")
        if isinstance(name, str) and family_of(name) is not None:
            return name
    return None


def _can_be_fetched(name: str) -> bool:
    from jeton._published import published_vocabularies

    published = published_vocabularies().get(name)
    return published is not None and published.rank_file.url is not None


def _missing(model: str, family: SharedTokenizer) -> UnknownTokenizerError:
    from jeton._published import published_vocabularies
    from jeton.registry.places import how_to_get

    published = published_vocabularies()
    name = next((n for n in family.vocabularies if n in published), family.vocabularies[0])
    how = how_to_get(name) if name in published else f"jeton vocab add FILE --name {name}"
    of = f"the tokenizer of {model!r} is {name}, which is" if model != name else f"{model!r} is"
    return _error(
        model,
        f"{of} not at hand\n"
        f"hint: `{how}` brings it; $JETON_VOCAB_DIR may name a folder that has it",
    )


def _error(model: str, message: str) -> UnknownTokenizerError:
    error = UnknownTokenizerError(model)
    # The class builds the message for names that mean nothing; this one does mean something.
    error.args = (message,)
    return error
