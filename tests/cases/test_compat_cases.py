"""Chats through the adapter of transformers: what comes back, and which errors."""

from __future__ import annotations

import builtins
import logging
from typing import Any

import pytest

pytest.importorskip("transformers")

import jinja2.exceptions
import numpy as np
import tokenizers
import transformers
from tokenizers import models, pre_tokenizers
from transformers.utils import chat_template_utils

from jeton.compat.transformers import from_transformers
from jeton.errors import JetonError
from tests.cases.places import load_cases


def _theirs(told: dict[str, Any]) -> Any:
    """The tokenizer of a case, as transformers makes it."""
    if "bert" in told:
        return transformers.BertTokenizer(vocab={w: i for i, w in enumerate(told["bert"])})
    backend = tokenizers.Tokenizer(models.WordLevel(told["words"], "?"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    settings = {k: v for k, v in told.items() if k not in ("words", "bert")}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **settings)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _seen(tokenizer: Any, case: dict[str, Any]) -> dict[str, Any]:
    out = tokenizer.apply_chat_template(case["chat"], **case["arguments"])
    found = {key: _plain(value) for key, value in out.items()}
    found["keys"] = list(out)
    rows = range(len(out.encodings or ()))
    found["word_ids"] = [out.word_ids(i) for i in rows]
    found["tokens"] = [out.tokens(i) for i in rows]
    found["sequence_ids"] = [out.sequence_ids(i) for i in rows]
    return found


@pytest.mark.parametrize("case", load_cases("compat"))
def test_case(case: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    theirs = _theirs(case["tokenizer"])
    ours = from_transformers(theirs)
    if "trusted_roles" in case:
        ours.trusted_chat_roles = frozenset(case["trusted_roles"])
    wanted = dict(case["expected"])
    if "error" in wanted:
        _check_error(ours, theirs, case, wanted["error"])
        return
    logger: Any = logging.getLogger(chat_template_utils.__name__)
    logged = wanted.pop("logged", None)
    if logged is not None:
        # The library's own logger hands nothing on, and says a thing once.
        logger.addHandler(caplog.handler)
        type(logger).warning_once.cache_clear()
    found = _seen(ours, case)
    if logged is not None:
        logger.removeHandler(caplog.handler)
        assert logged in caplog.text
    assert {key: found[key] for key in wanted} == wanted
    if case["same_as_transformers"]:
        assert found == _seen(theirs, case)


def _check_error(ours: Any, theirs: Any, case: dict[str, Any], wanted: dict[str, Any]) -> None:
    name = wanted["class"]
    kind = getattr(jinja2.exceptions, name, None) or getattr(builtins, name)
    with pytest.raises(kind) as caught:
        ours.apply_chat_template(case["chat"], **case["arguments"])
    assert isinstance(caught.value, JetonError)
    words = str(caught.value)
    for part in wanted["contains"]:
        assert part in words
    for part in wanted["lacks"]:
        assert part not in words
    with pytest.raises(kind):
        theirs.apply_chat_template(case["chat"], **case["arguments"])
