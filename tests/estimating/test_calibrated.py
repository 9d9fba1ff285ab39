"""Calibrated counts and counts from slices: exact laws are learned, and intervals hold."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import jeton
from jeton.cli.app import app
from jeton.errors import FormatError, UsageError
from jeton.estimating.calibrated import FEATURES, CountModel, features_of, kind_of, load_count_model
from jeton.estimating.learning import learn_from_texts
from jeton.estimating.sampled import sampled_count

WORDS = ("river", "a", "Committee", "7", "understanding", "of", "Zug", "(x)", "-", "\n", "1999")


def texts_of(n: int, seed: int = 3, words: tuple[str, ...] = WORDS) -> list[str]:
    """Texts of random words."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words, int(rng.integers(60, 900)))) for _ in range(n)]


class TestFeatures:
    def test_counts_by_hand(self) -> None:
        found = dict(zip(FEATURES, features_of("Ab c  12\u6f22\u5b57;;".encode()), strict=True))
        assert found["small letters"] == 2
        assert found["capitals"] == 1
        assert found["spaces"] == 3
        assert found["spaces in runs"] == 1
        assert found["digits"] == 2
        assert found["numbers"] == 1
        assert found["Han"] == 2
        assert found["punctuation in runs"] == 1
        assert found["words up to 4"] == 2
        assert found["words up to 8"] == 1

    def test_kinds(self) -> None:
        assert kind_of(features_of(b"plain words of prose here")) == "Latin prose"
        assert kind_of(features_of(b"f(x)[i] = {a: b};")) == "Latin with much punctuation"
        assert kind_of(features_of("\u6f22\u5b57 abc".encode())) == "Latin prose"
        assert kind_of(features_of("\u6f22\u5b57\u6f22\u5b57 a".encode())) == "Han"

    def test_empty(self) -> None:
        assert features_of(b"").sum() == 0


class TestModel:
    def test_a_law_is_learned(self) -> None:
        texts = [text.encode() for text in texts_of(400)]
        counts = [3 * text.count(b" ") + 20 for text in texts]
        model = CountModel.fit(texts, counts, counted_by="law", has_frame=True)
        found = model.count(texts_of(1, seed=99)[0])
        actual = 3 * texts_of(1, seed=99)[0].count(" ") + 20
        assert found.n_tokens == pytest.approx(actual, rel=0.02)
        assert found.lower_tokens <= found.n_tokens * 1.02

    def test_intervals_hold_on_other_texts(self) -> None:
        tok = jeton.load("jeton-general-32k")
        model = learn_from_texts(texts_of(300), tok, piece_bytes=4096)
        held = []
        for text in texts_of(150, seed=8):
            found = model.count(text)
            held.append(found.lower_tokens <= tok.count(text) <= found.upper_tokens)
        assert 0.8 <= np.mean(held) <= 1

    def test_file(self, tmp_path: Path) -> None:
        texts = [text.encode() for text in texts_of(200)]
        model = CountModel.fit(texts, [len(text) for text in texts], counted_by="bytes")
        model.save(tmp_path / "model.json")
        assert load_count_model(tmp_path / "model.json") == model

    @pytest.mark.parametrize(
        "change",
        [
            {"schema_version": "other"},
            {"coefficients": {}},
            {"ranges": []},
            {"intercept_tokens": "x"},
            {"unknown": 1},
        ],
    )
    def test_broken_files(self, tmp_path: Path, change: dict[str, object]) -> None:
        texts = [text.encode() for text in texts_of(200)]
        model = CountModel.fit(texts, [len(text) for text in texts], counted_by="bytes")
        file = tmp_path / "model.json"
        file.write_text(json.dumps({**model.to_dict(), **change}))
        with pytest.raises(FormatError, match="no model of counts"):
            load_count_model(file)

    def test_too_few_texts(self) -> None:
        with pytest.raises(UsageError, match="3 texts with a count; expected at least 160"):
            CountModel.fit([b"a", b"b", b"c"], [1, 1, 1], counted_by="x")


class TestSlices:
    def test_short_texts_are_counted(self) -> None:
        tok = jeton.load("jeton-general-32k")
        found = sampled_count(tok, lambda a, b: b"Hello there"[a:b], 11)
        assert (found.n_tokens, found.lower_tokens, found.upper_tokens) == (2, 2, 2)
        assert found.coverage == 1

    def test_coverage_over_draws(self) -> None:
        tok = jeton.load("jeton-general-32k")
        data = "\n".join(texts_of(60)).encode()
        count = tok.count(data.decode())
        held = []
        for seed in range(60):
            found = sampled_count(
                tok, lambda a, b: data[a:b], len(data), sample_bytes=16_384, seed=seed
            )
            held.append(found.lower_tokens <= count <= found.upper_tokens)
            assert found.n_read_bytes < 20_000
        assert np.mean(held) >= 0.85

    def test_bad_numbers(self) -> None:
        tok = jeton.load("jeton-general-32k")
        with pytest.raises(UsageError, match="sample_bytes is 10"):
            sampled_count(tok, lambda a, b: b"", 0, sample_bytes=10)


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["predict", *words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, a text, a log with usage, and the models of both."""
    place = tmp_path_factory.mktemp("predict")
    (place / "corpus.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in texts_of(250))
    )
    (place / "text.txt").write_text("\n".join(texts_of(40, seed=5)))
    rng = np.random.default_rng(1)
    lines = [
        {
            "model": "claude-x",
            "prompt": text,
            "usage": {"input_tokens": 9 + int(len(text) / 4 * rng.normal(1, 0.01))},
        }
        for text in texts_of(250, seed=6)
    ]
    (place / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return place


class TestCommand:
    def test_tokenizer(self, folder: Path) -> None:
        model = str(folder / "model.json")
        words = (str(folder / "corpus.jsonl"), "-t", "jeton-general-32k", "-o", model)
        done = run("calibrate", *words)
        assert done.exit_code == 0, done.output
        text = folder / "text.txt"
        done = run("tokens", str(text), "-t", "jeton-general-32k", "--calibration", model, "--json")
        assert done.exit_code == 0, done.output
        (found,) = json.loads(done.stdout)["texts"]
        count = jeton.load("jeton-general-32k").count(text.read_text())
        assert found["bounds"]["lower_tokens"] <= count <= found["bounds"]["upper_tokens"]
        assert found["calibrated"]["n_tokens"] == pytest.approx(count, rel=0.05)
        assert found["sample"]["n_tokens"] == pytest.approx(count, rel=0.1)

    def test_says_that_encoding_is_quick(self, folder: Path) -> None:
        done = run("tokens", str(folder / "text.txt"), "-t", "jeton-general-32k")
        assert done.exit_code == 0
        assert "`jeton count` is as quick, and exact" in done.output

    def test_bytes_that_are_no_utf8(self, tmp_path: Path) -> None:
        file = tmp_path / "bad.txt"
        file.write_bytes(bytes([0xFF]) * 3000)
        done = run("tokens", str(file), "-t", "jeton-general-32k", "--json")
        (found,) = json.loads(done.stdout)["texts"]
        count = jeton.load("jeton-general-32k").count("\ufffd" * 3000)
        assert found["bounds"]["lower_tokens"] <= count <= found["bounds"]["upper_tokens"] == 9000

    def test_usage(self, folder: Path) -> None:
        model, log = str(folder / "provider.json"), str(folder / "log.jsonl")
        assert run("calibrate", log, "--usage", "-o", model).exit_code == 0
        text = folder / "text.txt"
        wanted = 9 + len(text.read_text()) / 4
        (found,) = json.loads(run("tokens", str(text), "--calibration", model, "--json").stdout)[
            "texts"
        ]
        assert found["calibrated"]["n_tokens"] == pytest.approx(wanted, rel=0.05)
        words = ("-t", "jeton-general-32k", "--usage", log, "--json")
        (found,) = json.loads(run("tokens", str(text), *words).stdout)["texts"]
        assert found["provider"]["lower_tokens"] < wanted < found["provider"]["upper_tokens"]

    @pytest.mark.parametrize(
        ("words", "part"),
        [
            (("tokens", "{}/text.txt"), "give --tokenizer, --calibration, or both"),
            (("tokens", "{}/none.txt", "-t", "jeton-general-32k"), "none.txt"),
            (("tokens", "{}", "-t", "jeton-general-32k"), "is a folder"),
            (("tokens", "{}/text.txt", "--calibration", "{}/log.jsonl"), "no model of counts"),
            (("calibrate", "{}/text.txt", "-o", "{}/x.json"), "either --tokenizer or --usage"),
            (
                ("calibrate", "{}/corpus.jsonl", "--usage", "-o", "{}/x.json"),
                "no request has both",
            ),
        ],
    )
    def test_bad_input(self, folder: Path, words: tuple[str, ...], part: str) -> None:
        done = run(*(word.format(folder) for word in words))
        assert done.exit_code == 2
        assert part in done.output
