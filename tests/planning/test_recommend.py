"""Recommendation of a training: each choice follows from the measurements of its trials."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import jeton
from jeton.cli.app import app
from jeton.metrics.bootstrap import Interval
from jeton.planning import Trial, recommend
from jeton.planning.recommend import _decide, read_sample

SIZES = (280, 320)
ENGLISH = "low lower lowest new newer wide widest and the of that which".split()  # noqa: SIM905
RUSSIAN = "было давно прошло потом город дорога река который".split()  # noqa: SIM905
FRENCH = ["élève", "été", "café", "déjà", "hélas", "à", "côté", "réglé", "être", "forêt"]


def documents(words: list[str], n: int = 150, seed: int = 0) -> list[str]:
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(words, 25)) + f" {i}." for i in range(n)]


def trial(value: str, change: float, low: float, high: float) -> Trial:
    return Trial(value, 1000 + int(1000 * change), change, Interval(low, high, 0.95, "bca", 100, 0))


def test_the_default_stays_unless_another_is_clearly_better() -> None:
    default = Trial("llama3", 1000, 0.0, None)
    better = trial("gpt2", -0.02, -0.03, -0.01)
    best = trial("qwen", -0.04, -0.06, -0.02)
    small = trial("small", -0.004, -0.005, -0.003)
    unsure = trial("unsure", -0.10, -0.30, 0.01)
    failed = Trial("broken", 0, 0.0, None, failed="no")
    assert _decide("q", [default, better, best, small, unsure, failed]).choice == "qwen"
    assert (
        "4.0% fewer tokens than llama3 (95%: 2.0% to 6.0%)" in _decide("q", [default, best]).reason
    )
    assert _decide("q", [default, small, unsure, failed]).choice == "llama3"
    assert _decide("q", [default]).reason == "nothing else was tried than llama3"


def test_decomposed_accents_want_nfc() -> None:
    texts = [
        unicodedata.normalize("NFD" if i % 2 else "NFC", text)
        for i, text in enumerate(documents(FRENCH))
    ]
    found = recommend(iter(texts), vocab_sizes=SIZES, algorithms=("bpe",), patterns=("gpt2",))
    by_question = {decision.question: decision for decision in found.decisions}
    assert by_question["normalization"].choice == "nfc"
    assert "NFC changes 50" in by_question["normalization"].reason
    assert found.settings.normalizer == "nfc"
    composed = recommend(
        iter(documents(FRENCH)), vocab_sizes=SIZES, algorithms=("bpe",), patterns=("gpt2",)
    )
    assert composed.settings.normalizer is None
    assert "in NFC already" in composed.decisions[1].reason


def test_domains_that_share_nothing_want_their_own(tmp_path: Path) -> None:
    for name, words in (("english", ENGLISH), ("russian", RUSSIAN)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("\n".join(documents(words)), encoding="utf-8")
    found = recommend(
        [tmp_path],
        vocab_sizes=SIZES,
        patterns=("gpt2",),
        algorithms=("bpe",),
        documents="line",
        domains="folder",
    )
    assert {domain.domain for domain in found.domains} == {"english", "russian"}
    for domain in found.domains:
        # 16,000 ids hold every word of both: nothing is gained by a vocabulary of its own.
        assert domain.saving < 0.1
    assert found.decisions[3].choice == "one"


def test_the_same_whatever_the_order_and_the_threads() -> None:
    texts = documents(ENGLISH)
    some = {"vocab_sizes": SIZES, "patterns": ("gpt2", "qwen"), "model": ["llama-3.2-1b"]}
    first = recommend(iter(texts), **some)  # type: ignore[arg-type]
    second = recommend(iter(texts), num_threads=1, **some)  # type: ignore[arg-type]
    assert json.dumps(first.to_dict()) == json.dumps(second.to_dict())
    assert first.settings.vocab_size in SIZES
    assert [d.question for d in first.decisions] == [
        "split pattern",
        "normalization",
        "algorithm",
        "one vocabulary or several",
        "vocabulary size",
    ]


def test_what_cannot_be_tried() -> None:
    with pytest.raises(jeton.UsageError, match="too few"):
        recommend(iter(["one document"]), vocab_sizes=SIZES)
    with pytest.raises(jeton.EmptyCorpusError):
        recommend(iter([]), vocab_sizes=SIZES)
    with pytest.raises(jeton.UsageError, match="nothing to try"):
        recommend(iter(documents(ENGLISH)), patterns=())
    found = recommend(
        iter(documents(ENGLISH)),
        vocab_sizes=SIZES,
        patterns=("gpt2", "nosuch"),
        algorithms=("bpe",),
    )
    assert "unknown split pattern" in found.decisions[0].trials[1].failed
    assert found.settings.pattern == "gpt2"


def test_the_command(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(documents(ENGLISH)), encoding="utf-8")
    command = ["recommend", str(corpus), "--documents", "line", "--vocab-sizes", "280,320"]
    result = CliRunner().invoke(app, [*command, "--json", str(tmp_path / "r.json")])
    assert result.exit_code == 0, result.output
    assert "one vocabulary or several" in result.output
    assert "jeton train" in result.output
    data = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert data["settings"]["vocab_size"] in (280, 320)


def test_what_is_nearly_alike_is_on_one_side_whatever_the_order(tmp_path: Path) -> None:
    texts = documents(ENGLISH, n=120)
    doubled = [text + more for text in texts for more in ("", " the end")]
    reading = {"documents": "line"}
    for name, part in (("a", doubled), ("b", documents(FRENCH)), ("c", documents(RUSSIAN))):
        (tmp_path / name).write_text("\n".join(part), encoding="utf-8")
    samples = [
        read_sample(
            [tmp_path / name for name in names], reading, domains_by="file", domain_field=""
        )
        for names in ("abc", "cba")
    ]
    assert sorted(samples[0].held) == sorted(samples[1].held)
    held, trained = set(samples[0].held), set(samples[0].train)
    assert len(held) > 10
    for text in texts:
        assert not (text in held and text + " the end" in trained)
        assert not (text in trained and text + " the end" in held)


def test_whole_sources_are_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Which sources are kept apart is drawn from their names: under a folder whose name is another
    # each time it would be none of them now and then.
    monkeypatch.chdir(tmp_path)
    folder = Path("sources")
    folder.mkdir()
    for i in range(30):
        part = documents(ENGLISH, n=20, seed=i)
        (folder / f"{i}.txt").write_text("\n".join(part), encoding="utf-8")
    sample = read_sample(
        [folder],
        {"documents": "line"},
        domains_by="file",
        domain_field="",
        hold_out_by="source",
    )
    apart, trained = set(sample.held_domains), set(sample.train_domains)
    assert apart
    assert trained
    assert not apart & trained
    with pytest.raises(jeton.UsageError, match="too much alike to keep whole sources apart"):
        recommend(iter(documents(ENGLISH)), vocab_sizes=SIZES, hold_out_by="source")
