"""Random SentencePiece models, trained in the run by `sentencepiece`, beside the library itself.

Every model type, normalization rule and switch of the format in random mixture, over edge texts;
some models have random rules of their own, whose tails the library's array shares.
"""

from __future__ import annotations

import base64
import io
import itertools
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import sentencepiece

from jeton._core import from_sentencepiece
from jeton.edge_texts import edge_texts
from jeton.errors import VocabularyError
from tests.core import makers
from tests.differential.harness import Pair, Refused
from tests.differential.models import chance, pick
from tests.differential.references import sentencepiece_checks

BATCH_CASES = 500
"""Texts for each model: training one takes as long as a thousand texts."""
_EDGE_LINES = 150
_ATTEMPTS = 40
_SYMBOLS = (
    "<user>",
    "\u2581",
    "a",
    " a",
    "\u00e9",
    "\U0001f600",
    "12",
    "the",
    "\n",
    "  ",
    "A",
    "<0x41>",
)
_RULE_LETTERS = ("a", "e", "t", "h", "s", " ", ".", ",", "\u0301", "\u4e2d", "\n", "1")
_RULE_RESULTS = ("", " ", "T", "T", "e", "he", ".", "\u4e2d", "a ", "\u00e9")


def pair(seed: int) -> Pair:
    """The model of this seed. Raises `Refused` with Jeton's reason."""
    options, model = _train(seed)
    try:
        tokenizer = from_sentencepiece(model)
    except VocabularyError as error:
        raise Refused(str(error).split("\n", 1)[0][:160]) from error
    detail = {"trainer": options, "model_base64": base64.b64encode(model).decode()}
    checks = tuple(sentencepiece_checks(tokenizer, model))
    return Pair(checks, (tokenizer,), detail=json.dumps(detail))


def _train(seed: int) -> tuple[dict[str, Any], bytes]:
    for attempt in range(_ATTEMPTS):
        rng = random.Random(f"{seed} {attempt}")
        options = _options(rng)
        model = io.BytesIO()
        lines = _lines(rng, seed)
        try:
            _train_once(lines, model, options)
        except RuntimeError:  # a mixture that the trainer does not take
            continue
        return options, model.getvalue()
    raise AssertionError(f"no model in {_ATTEMPTS} attempts for seed {seed}")


def _train_once(lines: list[str], model: io.BytesIO, options: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        given = dict(options)
        rules = given.pop("rules", None)
        if rules:
            path = Path(folder) / "rules.tsv"
            spelled = (
                "\t".join(" ".join(f"{ord(c):X}" for c in text) for text in rule)
                for rule in rules.items()
            )
            path.write_text("".join(f"{line}\n" for line in spelled), encoding="ascii")
            given["normalization_rule_tsv"] = str(path)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, **given
        )


def _rules(rng: random.Random) -> dict[str, str]:
    """Texts and what they become: often the same, so that their ends are one in the array."""
    rules = {}
    for _ in range(pick(rng, (1, 2, 4))):
        tail = "".join(pick(rng, _RULE_LETTERS) for _ in range(pick(rng, (0, 1, 1, 2))))
        result = pick(rng, _RULE_RESULTS)
        for _ in range(pick(rng, (1, 2, 3))):
            text = pick(rng, _RULE_LETTERS) + tail
            if text != result:  # which the library refuses
                rules[text] = result
    return rules


def _lines(rng: random.Random, seed: int) -> list[str]:
    prose = pick(rng, makers.prose())[:6_000].split("\n")
    odd = [text for text in itertools.islice(edge_texts(seed=seed), _EDGE_LINES) if len(text) < 200]
    # The trainer takes lines: what ends one inside a text would only cut it.
    return [line for line in (text.replace("\n", " ") for text in prose + odd) if line.strip()]


def _options(rng: random.Random) -> dict[str, Any]:
    kind = pick(rng, ("unigram", "unigram", "bpe", "bpe", "word", "char"))
    options: dict[str, Any] = {
        "model_type": kind,
        "vocab_size": 400 + int(rng.random() * 2_000),
        "hard_vocab_limit": False,
        "normalization_rule_name": pick(
            rng, ("identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf")
        ),
        "byte_fallback": chance(rng, 0.4) and kind in ("unigram", "bpe"),
        "add_dummy_prefix": chance(rng, 0.7),
        "remove_extra_whitespaces": chance(rng, 0.5),
        "treat_whitespace_as_suffix": chance(rng, 0.2),
        "allow_whitespace_only_pieces": chance(rng, 0.4),
        "split_by_whitespace": chance(rng, 0.8),
        "split_by_number": chance(rng, 0.7),
        "split_by_unicode_script": chance(rng, 0.7),
        "split_digits": chance(rng, 0.3),
        "character_coverage": pick(rng, (0.98, 0.99, 0.9995)),
        "max_sentencepiece_length": pick(rng, (4, 16, 16)),
        "user_defined_symbols": [pick(rng, _SYMBOLS) for _ in range(pick(rng, (0, 0, 1, 3)))],
        "bos_id": pick(rng, (1, -1)),
        "eos_id": pick(rng, (2, -1)),
        "unk_surface": pick(rng, (" \u2047 ", "?", "")),
        "num_threads": 1,
        "minloglevel": 2,
    }
    if options["byte_fallback"]:
        options["vocab_size"] += 256
    options["user_defined_symbols"] = list(dict.fromkeys(options["user_defined_symbols"]))
    if options["bos_id"] < 0 and options["eos_id"] >= 0:
        options["eos_id"] = 1
    if chance(rng, 0.3):
        del options["normalization_rule_name"]
        options["rules"] = _rules(rng)
    return options
