"""Results in a notebook: a short line, a page in a frame, a table."""

from __future__ import annotations

import html
import pickle
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton._shown import NotebookResult
from jeton.guard.files import scan_files
from jeton.tracing import trace_encode, trace_train

TEXTS = ["hello world", "low lower lowest", "hello world"]
NAMES = ["jeton-general-32k", "jeton-code-32k"]
# Things to go on with, and no reports; each shows its size in its own short line or is plain data.
MATERIAL = {
    "Tokenizer", "CountedCorpus", "Ledger", "Lock", "Pack", "UsageRows", "PreprocessedTexts",
    "TokenizedDataset", "ChunkedDocuments", "ContinuedTokenizer", "Conversion", "DatasetCheck",
}  # fmt: skip


def returned(name: str) -> str:
    """The class that a public function returns, by name."""
    function = getattr(jeton, name)
    is_function = isinstance(function, types.FunctionType)
    return str(function.__annotations__["return"]) if is_function else ""


def test_every_public_result_shows_itself() -> None:
    names = {returned(name) for name in jeton.__all__}
    classes = {name for name in names if re.fullmatch(r"[A-Z]\w+", name)}
    assert len(classes) >= 15
    shown = {found.__name__ for found in NotebookResult.__subclasses__()}
    assert classes <= shown | MATERIAL, classes - shown - MATERIAL


def results(folder: Path) -> list[Any]:
    text = folder / "a.txt"
    text.write_text("hello pay\u200bpal", encoding="utf-8")
    general = jeton.load(NAMES[0])
    locks = [jeton.make_lock(tokenizers=[name], canaries=["low"]) for name in NAMES]
    return [
        jeton.audit(iter(TEXTS), tokenizers=NAMES),
        jeton.compare(iter(TEXTS), tokenizers=NAMES, time_encoding=False),
        jeton.sweep(iter(TEXTS * 30), vocab_sizes=[262, 264], heldout=iter(["hello lower"])),
        jeton.inspect_texts(iter(TEXTS), tokenizers=NAMES[:1]),
        jeton.diagnose(NAMES[0]),
        jeton.explain(*NAMES, n_cases=20),
        jeton.compare_locks(*locks),
        jeton.preprocess_texts(TEXTS, steps="whitespace", tokenizer=general).report,
        jeton.plan_chunks(model="llama-3-8b", gpu="a10g", prompt_tokens=500, output_tokens=50),
        trace_encode(general, "lowest"),
        trace_train(iter(TEXTS), vocab_size=259),
        trace_train(iter(TEXTS), algorithm="word", vocab_size=9),
        scan_files([str(text)]),
    ]


@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
def test_results_show_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[list[dict[str, Any]]] = []
    pandas = types.ModuleType("pandas")
    pandas.DataFrame = frames.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    for result in results(tmp_path):
        assert len(repr(result)) < 120
        assert repr(result).startswith(type(result).__name__)
        page = result.to_html()
        assert html.escape(page, quote=True) in result._repr_html_()
        assert page.count("<h1") == 1
        result.save(tmp_path / "page.html")
        assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
        result.to_pandas()
        rows = frames.pop()
        assert rows or type(result).__name__ in ("Diagnosis", "Explanation", "LockDifference")
        assert all(
            isinstance(v, str | int | float | bool | type(None))
            for row in rows
            for v in row.values()
        )
    comparison = jeton.compare(iter(TEXTS), tokenizers=NAMES, time_encoding=False)
    assert pickle.loads(pickle.dumps(comparison)) == comparison
    assert repr(comparison) == "Comparison(2 tokenizers, 1 group)"


def test_a_tokenizer_is_sized_and_callable() -> None:
    tokenizer = jeton.load(NAMES[0])
    assert len(tokenizer) == tokenizer.vocab_size
    assert tokenizer("low").input_ids.tolist() == tokenizer.encode("low")
    rows = tokenizer(["low", "lower than low"], padding=True, pad_token="<|endoftext|>")
    assert (
        rows.attention_mask.sum(axis=1).tolist()
        == tokenizer.count_batch(["low", "lower than low"]).tolist()
    )
    pair = tokenizer("low", "er").input_ids.tolist()
    assert pair == tokenizer.encode("low") + tokenizer.encode("er")
