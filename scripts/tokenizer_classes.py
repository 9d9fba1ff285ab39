"""Write the table of tokenizer classes that Jeton compares folders with: from transformers.

    python -m scripts.tokenizer_classes

For each class: how it cuts text, where it builds its tokenizer anew, and its defaults for padding
and inputs. Classes that cannot be made without files are written without steps.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
from pathlib import Path
from typing import Any

import transformers
from transformers import PreTrainedTokenizerBase
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
from transformers.models.auto.tokenization_auto import (
    MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS,
    TOKENIZER_MAPPING_NAMES,
    tokenizer_class_from_name,
)
from transformers.tokenization_utils_tokenizers import TokenizersBackend

from jeton.formats.classes import text_steps

TARGET = Path(__file__).resolve().parent.parent / "python/jeton/formats/tokenizer_classes.json"
# Names of classes that run a tokenizer.json as it is.
GENERIC = ("TokenizersBackend", "PythonBackend", "PreTrainedTokenizerFast", "MistralCommonBackend")
DEFAULT_INPUTS = ["input_ids", "attention_mask"]


def main() -> None:
    """Write the table."""
    folder = Path(transformers.__file__).parent / "models"
    classes: dict[str, Any] = {}
    for file in sorted(folder.glob("*/tokenization_*.py")):
        name = f"transformers.models.{file.parent.name}.{file.stem}"
        try:
            module = importlib.import_module(name)
        except (ImportError, NameError):
            continue  # needs a library that is not here
        for key, value in vars(module).items():
            is_class = isinstance(value, type) and issubclass(value, PreTrainedTokenizerBase)
            if is_class and value.__module__ == name:
                classes[key.removesuffix("Fast")] = _facts(value)
    generic = [kind for kind, name in TOKENIZER_MAPPING_NAMES.items() if name in GENERIC]
    instead = {
        kind: name.removesuffix("Fast")
        for kind in MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS
        if (name := TOKENIZER_MAPPING_NAMES.get(kind)) and name not in GENERIC
    }
    tree = {
        "source": f"transformers {transformers.__version__}",
        "classes": classes,
        "other_names": _other_names(classes),
        "models_with_the_generic_class": sorted(generic),
        "models_with_another_class": instead,
    }
    text = json.dumps(tree, ensure_ascii=False, indent=1, sort_keys=True)
    TARGET.write_text(text + "\n", encoding="utf-8")


def _other_names(classes: dict[str, Any]) -> dict[str, str]:
    """Names under which a class is found, too: those of models that share another one's."""
    names = {name.removesuffix("Config") + "Tokenizer" for name in CONFIG_MAPPING_NAMES.values()}
    found = {}
    for name in sorted(names - set(classes)):
        kind = tokenizer_class_from_name(name)
        own = None if kind is None else kind.__name__.removesuffix("Fast")
        if own in classes and own != name:
            found[name] = own
    return found


def _facts(kind: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if kind.padding_side != "right":
        facts["padding_side"] = kind.padding_side
    if list(kind.model_input_names) != DEFAULT_INPUTS:
        facts["model_input_names"] = list(kind.model_input_names)
    if issubclass(kind, TokenizersBackend) and "__init__" in kind.__dict__:
        with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
            tree = json.loads(kind().backend_tokenizer.to_str())
            facts["steps"] = list(text_steps(tree))
    return facts


if __name__ == "__main__":
    main()
