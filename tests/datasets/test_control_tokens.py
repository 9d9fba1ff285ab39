"""Text never becomes a control token in what writes or counts the ids of training data.

Every vocabulary x every way that writes or counts ids x spellings of its special tokens. `make
test` takes a made vocabulary of each kind and two bundled ones; the conformance suite takes all
vocabularies of the shared data.
"""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import jeton
from jeton import Tokenizer
from jeton._core import TextBatch, from_hf_json
from jeton.cli.app import app
from jeton.datasets.boundaries import BoundaryTokens, find_boundaries
from jeton.datasets.manifest import DatasetManifest
from jeton.datasets.options import DatasetOptions
from jeton.errors import JetonError, UsageError

VOCABULARIES = Path(os.environ.get("JETON_VOCAB_DIR") or Path("../shared/data/vocab"))
N_TOKENS = 18


def spellings(token: str) -> list[str]:
    """Texts that spell a token, or something that normalization makes of it."""
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in token)
    middle = max(1, len(token) // 2)
    marks = ["\u200b", "\u00ad", "\0", "\u0301", " ", "\ufeff", "\u2060", "\n"]
    return [
        token, f"a {token} b", f"a{token}b", f"{token}{token}", f" {token}", f"{token} ",
        token.upper(), token.lower(), wide, f"x{wide} y", unicodedata.normalize("NFD", token),
        unicodedata.normalize("NFKC", token), *(token[:middle] + m + token[middle:] for m in marks),
        "\u2581" + token, token.replace(" ", "\u2581"), "<0x0A>", "<0x00>a",
    ]  # fmt: skip


def model_json(kind: str) -> Tokenizer:
    """A tokenizer.json whose model has its control tokens as words of its own."""
    characters = [*"abcdefghijklmnopqrstuvwxyz<>/sSE[]|_ \u2581"]
    special = ["<unk>", "</s>", "<pad>", "[SEP]", "<|end|>"]
    added = [
        {
            "id": n, "content": text, "special": True, "normalized": n % 2 == 1,
            "single_word": False, "lstrip": False, "rstrip": False,
        }
        for n, text in enumerate(special)
    ]  # fmt: skip
    tokens = [*special, *dict.fromkeys(characters)]
    vocab = {text: number for number, text in enumerate(tokens)}
    model: dict[str, Any] = {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"}
    if kind == "unigram":
        scored = [[text, -0.1 if text in special else -3.0] for text in tokens]
        model = {"type": "Unigram", "unk_id": 0, "vocab": scored}
    if kind == "wordpiece":
        words = {"continuing_subword_prefix": "", "max_input_chars_per_word": 99}
        model |= {"type": "WordPiece", **words}
    if kind == "bpe":
        model |= {"type": "BPE", "merges": [], "ignore_merges": True, "byte_fallback": False}
    form = {
        "version": "1.0", "added_tokens": added, "normalizer": {"type": "NFKC"},
        "pre_tokenizer": {"type": "WhitespaceSplit"} if kind == "word" else None,
        "post_processor": None, "decoder": None, "model": model,
    }  # fmt: skip
    return from_hf_json(json.dumps(form).encode(), name=kind)


def leaks(tokenizer: Tokenizer) -> list[str]:
    """Return the places where text becomes a control token, or two ways of one work disagree."""
    try:
        around = find_boundaries(tokenizer, DatasetOptions(append_eos=True))
    except UsageError:
        around = BoundaryTokens()
    control = set(tokenizer.special_tokens.values()) | {*around.before, *around.behind}
    control.discard(-1 if tokenizer.unknown_id is None else tokenizer.unknown_id)
    framed, guarded = around.frame(tokenizer), around.guard(tokenizer)
    n_around = len(around.before) + len(around.behind)
    names = [text for text, number in tokenizer.special_tokens.items() if number in control]
    step = max(1, len(names) // N_TOKENS)
    texts = [text for name in names[::step] for text in spellings(name)]
    rows = framed.encode_batch(texts, add_special_tokens=True)
    counts = guarded.count_batch(TextBatch.from_texts(texts)).tolist()
    found = []
    for text, row, count in zip(texts, rows, counts, strict=True):
        ids = row.tolist()
        own = ids[len(around.before) : len(ids) - len(around.behind)]
        if control & set(own):
            found.append(f"{text!r} becomes {sorted(control & set(own))}")
        if count + n_around != len(ids) or guarded.encode(text) != own:
            found.append(f"{text!r} is counted or encoded otherwise")
        if control.isdisjoint(tokenizer.encode(text)) and tokenizer.encode(text) != own:
            named = any(part in text for part in ("<0x",))
            if not named:
                found.append(f"{text!r} has other ids without need")
    return found


@pytest.mark.parametrize("kind", ["unigram", "wordpiece", "word", "bpe"])
def test_made_vocabularies(kind: str) -> None:
    tokenizer = model_json(kind)
    assert leaks(tokenizer) == []
    if kind == "unigram":
        assert 1 in tokenizer.encode("a </s> b")  # as the reference has it


@pytest.mark.parametrize("name", ["jeton-general-32k", "jeton-code-32k"])
def test_bundled_vocabularies(name: str) -> None:
    assert leaks(jeton.load(name)) == []


@pytest.mark.conformance
@pytest.mark.skipif(not VOCABULARIES.is_dir(), reason="needs the shared vocabularies")
def test_every_vocabulary() -> None:
    found: dict[str, list[str]] = {}
    n = 0
    for path in sorted(VOCABULARIES.iterdir()):
        try:
            tokenizer = jeton.load(path)
        except (JetonError, OSError):
            continue  # a part of several files, or one without its pattern
        n += 1
        if some := leaks(tokenizer):
            found[path.name] = some[:5]
    assert n >= 40
    assert found == {}


def test_commands_agree_about_a_document_that_spells_the_end(tmp_path: Path) -> None:
    """`tokenize`, `--verify` and `pack` on a Unigram model: two documents stay two."""
    model, source, out = (tmp_path / name for name in ("t.json", "d.jsonl", "out"))
    model.write_bytes(model_json("unigram").to_hf_json())
    wide = "\uff1c/s\uff1e"
    rows = [{"text": f"hello </s> ignore {wide} bye"}, {"text": "plain"}]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    words = ["tokenize", str(source), "-t", str(model), "--eos-token", "</s>"]

    def run(*words: str) -> str:
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code == 0, result.output
        return result.stderr

    run(*words, "--format", "numpy", "--append-eos", "-o", str(out))
    assert "2 documents" in run("tokenize", "--verify", str(out), "-t", str(model))
    ids = np.fromfile(next(out.glob("*.npy")), dtype=DatasetManifest.read(out).dtype)
    assert (ids == 1).sum() == 2
    guarded = jeton.load(model).guarded()
    pack = ["pack", str(source), "--tokenizer", str(model), "--capacity", "64", "--json", "-"]
    packed = json.loads(CliRunner().invoke(app, pack).stdout)
    assert packed["report"]["n_tokens"] == len(ids) - 2
    assert len(ids) - 2 == sum(guarded.count(row["text"]) for row in rows)


def test_a_guarded_tokenizer_stays_guarded() -> None:
    """Derived, pickled or framed, it makes no control token either."""
    import pickle

    guarded = model_json("unigram").guarded()
    again = pickle.loads(pickle.dumps(guarded))
    for one in (guarded, again, guarded.with_template("$A </s>"), guarded.guarded()):
        assert 1 not in one.encode("a </s> b")
        assert one.fingerprint == one.with_name("x").fingerprint
    assert again.fingerprint == model_json("unigram").fingerprint
    added = model_json("unigram").guarded(control_tokens=["a"])
    assert added.token_to_id("a") not in added.encode("a b")
