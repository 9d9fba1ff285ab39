"""Classes of tests made of the test mixins of ``transformers``; ``peer_mixins.py`` runs them.

This file is copied beside the library's own test modules, which it finds there. ``cases.json``
beside it says which tokenizer classes are tested on which folders, and what is imported: the
library itself, or what stands in for it.
"""

from __future__ import annotations

import importlib
import json
import unittest
from pathlib import Path
from typing import Any

import transformers

_CASES = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))
_PACKAGE = Path(__file__).parent.name
_LIBRARY: Any = importlib.import_module(_CASES["library"])
_COMMON: Any = importlib.import_module(f"{_PACKAGE}.test_tokenization_common")
_BACKEND: Any = importlib.import_module(f"{_PACKAGE}.test_tokenizers_backend_mixin")


def _made(name: str, mixin: type[Any], case: dict[str, str]) -> type[Any]:
    """A class of tests; what its mixin would fetch by a hub's name is a folder here."""
    tested = getattr(_LIBRARY, case["class"])
    if _CASES["library"] != "transformers":
        assert issubclass(tested, _LIBRARY.JetonBackend), tested
    scope = {
        "tokenizer_class": tested,
        "rust_tokenizer_class": tested,
        # The generic class cannot be made of a vocabulary alone.
        "test_tokenizer_from_extractor": case["class"] != "PreTrainedTokenizerFast",
        "from_pretrained_id": case["folder"],
        "from_pretrained_kwargs": {},
        "__module__": __name__,
    }
    bases: tuple[type[Any], ...] = (mixin, unittest.TestCase)
    if mixin is _COMMON.TokenizerTesterMixin:
        bases = (_Expected, *bases)
        scope["theirs"] = getattr(transformers, case["class"])
    return type(name, bases, scope)


class _Expected:
    """Expected literals of each class: here, the library's own results."""

    @classmethod
    def setUpClass(cls) -> None:
        made: Any = cls
        theirs = made.theirs.from_pretrained(made.from_pretrained_id)
        text = made.integration_test_input_string
        ids = theirs.encode(text, add_special_tokens=False)
        made.integration_expected_tokens = theirs.tokenize(text)
        made.integration_expected_token_ids = ids
        decoded = theirs.decode(ids, clean_up_tokenization_spaces=False)
        made.integration_expected_decoded_text = decoded
        super().setUpClass()  # type: ignore[misc]


for _case in _CASES["cases"]:
    for _kind, _mixin in (
        ("Common", _COMMON.TokenizerTesterMixin),
        ("Backend", _BACKEND.TokenizersBackendTesterMixin),
    ):
        _name = f"{_case['name']}{_kind}Test"
        globals()[_name] = _made(_name, _mixin, _case)
# Left in the module's scope, they would be collected once more by name.
del _case, _kind, _mixin, _name
