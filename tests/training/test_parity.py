"""Parity-aware BPE: whom merges serve, what says the language, variants, what is refused."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jeton
from jeton.cli.app import app
from jeton.errors import EmptyCorpusError, UsageError
from jeton.formats import card_path
from jeton.training import (
    TrainSettings,
    count_languages,
    count_pretokens,
    learn_from_counts,
    read_card,
    train_from_counts,
)
from jeton.training.checkpoints import Checkpoint

pytestmark = pytest.mark.filterwarnings("ignore:the text is enough for:jeton.errors.JetonWarning")

ENGLISH = ["the lower and the newer of the two, the newest and the lowest of the row"] * 40
RUSSIAN = ["старая лиса и новая лиса, самая новая и самая старая из двух"] * 4
GREEK = ["η νέα και η παλιά αλεπού, η πιο νέα και η πιο παλιά από τις δύο"] * 2
TEXTS = {"en": ENGLISH, "ru": RUSSIAN, "el": GREEK}


def _settings(**options: Any) -> TrainSettings:
    return TrainSettings(algorithm="parity-bpe", vocab_size=340, special_tokens=(), options=options)


def _learned(settings: TrainSettings, **arguments: Any) -> Any:
    counted = count_languages(
        {name: iter(texts) for name, texts in TEXTS.items()}, settings=settings, **arguments
    )
    return learn_from_counts(counted, settings=settings)


def _costs(tokenizer: jeton.Tokenizer) -> dict[str, float]:
    """Tokens for a character."""
    return {
        name: int(tokenizer.count_batch(texts).sum()) / sum(map(len, texts))
        for name, texts in TEXTS.items()
    }


def test_it_costs_the_languages_more_alike_than_plain_bpe() -> None:
    plain = _costs(
        jeton.train(
            (text for texts in TEXTS.values() for text in texts),
            vocab_size=340,
            special_tokens=(),
        )
    )
    fair = _costs(_learned(_settings()).tokenizer)
    assert max(fair.values()) / min(fair.values()) < 0.6 * max(plain.values()) / min(plain.values())
    assert max(fair.values()) < max(plain.values())


def test_facts_are_those_of_the_tokenizer() -> None:
    learned = _learned(_settings())
    assert [found["name"] for found in learned.facts["languages"]] == ["el", "en", "ru"]
    for found in learned.facts["languages"]:
        texts = TEXTS[found["name"]]
        assert found["n_measured_tokens"] == learned.tokenizer.count_batch(texts).sum()
        assert found["n_bytes"] == sum(len(text.encode()) for text in texts)
        assert found["tokens_per_unit"] == found["n_measured_tokens"] / sum(map(len, texts))
    assert sum(found["n_merges"] for found in learned.facts["languages"]) == 340 - 256


def test_aligned_development_text_is_what_is_compared() -> None:
    development = {"en": iter(["the fox"]), "ru": iter(["лиса"]), "el": iter(["η αλεπού"])}
    learned = _learned(_settings(), development=development)
    assert learned.facts["units"] == "aligned"
    costs = [found["tokens_per_unit"] for found in learned.facts["languages"]]
    assert costs == [found["n_measured_tokens"] for found in learned.facts["languages"]]
    # The development text is short: once the languages are even there, others have their turn.
    assert max(costs) - min(costs) <= 4


def test_merges_from_all_text_come_first() -> None:
    plain = jeton.train(
        (text for texts in TEXTS.values() for text in texts), vocab_size=340, special_tokens=()
    )
    hybrid = _learned(_settings(global_merges=30))
    for id in range(256, 256 + 30):
        assert hybrid.tokenizer.id_to_bytes(id) == plain.id_to_bytes(id)
    assert sum(found["n_merges"] for found in hybrid.facts["languages"]) == 340 - 256 - 30
    everything = _learned(_settings(global_merges=10_000)).tokenizer
    assert everything.fingerprint == plain.fingerprint


def test_the_window_gives_others_a_turn() -> None:
    free = _learned(_settings()).facts["languages"]
    bound = _learned(_settings(window=6, alpha=1.0)).facts["languages"]
    assert min(f["n_merges"] for f in bound) > min(f["n_merges"] for f in free)
    # 1.0 x 6 / 3 and one: at most 3 of any 6 steps.
    assert max(f["n_merges"] for f in bound) <= (340 - 256) / 2 + 3


def test_order_and_threads_do_not_matter() -> None:
    settings = _settings(window=6)
    there = count_languages({n: iter(t) for n, t in TEXTS.items()}, settings=settings)
    back = count_languages(
        {n: iter(TEXTS[n][::-1]) for n in reversed(TEXTS)}, settings=settings, num_threads=1
    )
    one = train_from_counts(there, settings=settings, num_threads=1)
    assert one.fingerprint == train_from_counts(back, settings=settings, num_threads=3).fingerprint
    mapped = jeton.train(
        {n: iter(t) for n, t in TEXTS.items()},
        algorithm="parity-bpe",
        vocab_size=340,
        special_tokens=(),
        window=6,
    )
    assert mapped.fingerprint == one.fingerprint


def test_the_same_ids_in_tokenizers() -> None:
    hf = pytest.importorskip("tokenizers")
    ours = _learned(_settings(window=6, global_merges=20)).tokenizer
    theirs = hf.Tokenizer.from_str(ours.to_hf_json().decode())
    for text in (*ENGLISH[:1], *RUSSIAN[:1], *GREEK[:1], "другая 123 ¡ 狐\n\n fox"):
        assert theirs.encode(text).ids == ours.encode(text)
        assert ours.decode(ours.encode(text)) == text


def _write(folder: Path) -> None:
    for name, texts in TEXTS.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "a.txt").write_text("\n".join(texts), encoding="utf-8")
    records = [
        json.dumps({"text": text, "lang": name}) for name, texts in TEXTS.items() for text in texts
    ]
    (folder / "all.jsonl").write_text("\n".join(records), encoding="utf-8")


def test_folders_and_fields_say_the_language(tmp_path: Path) -> None:
    _write(tmp_path)
    by_folder = _settings(language_by="folder")
    folders = count_pretokens(
        [tmp_path / name for name in TEXTS], settings=by_folder, documents="line"
    )
    by_field = _settings(language_field="lang")
    fields = count_pretokens([tmp_path / "all.jsonl"], settings=by_field)
    for counted, settings in ((folders, by_folder), (fields, by_field)):
        assert [language.name for language in counted.languages] == ["el", "en", "ru"]
        assert counted.counts.n_pretokens == sum(
            language.counts.n_pretokens for language in counted.languages
        )
        found = train_from_counts(counted, settings=settings)
        assert found.fingerprint == _learned(_settings()).tokenizer.fingerprint


def test_the_command_writes_a_card_with_the_languages(tmp_path: Path) -> None:
    _write(tmp_path / "in")
    development = tmp_path / "dev"
    _write(development)
    arguments = [
        "train",
        str(tmp_path / "in" / "all.jsonl"),
        *("--algorithm", "parity-bpe", "--vocab-size", "340", "--no-special-tokens", "-q"),
        *("-O", "language_field=lang", "-O", "window=100"),
        *("-O", f"development={json.dumps([str(development / 'all.jsonl')])}"),
        *("-O", "units=characters", "-o", str(tmp_path / "fair")),
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    path = card_path(tmp_path / "fair")
    card = read_card(path)
    languages = {found["name"]: found for found in card.learned["languages"]}
    assert sorted(languages) == ["el", "en", "ru"]
    assert languages["en"]["bytes_per_token"] > 1
    assert card.learned["units"] == "characters"
    assert card.to_dict()["learned"] == card.learned


def test_what_cannot_be_says_why(tmp_path: Path) -> None:
    _write(tmp_path)
    (tmp_path / "bare.jsonl").write_text('{"text": "no language"}\n', encoding="utf-8")
    settings = _settings(language_field="lang")
    with pytest.raises(UsageError, match="there is no field 'lang' in it"):
        count_pretokens([tmp_path / "bare.jsonl"], settings=settings)
    named = _settings(language_field="lang", default_language="en")
    found = count_pretokens([tmp_path / "bare.jsonl", tmp_path / "all.jsonl"], settings=named)
    assert {lang.name: lang.n_documents for lang in found.languages}["en"] == len(ENGLISH) + 1
    with pytest.raises(UsageError, match="no development text of 2 of 3 languages: el, ru"):
        _learned(_settings(), development={"en": iter(["the fox"])})
    with pytest.raises(UsageError, match="units is 'aligned', but there is no development text"):
        _learned(_settings(units="aligned"))
    counted = count_pretokens(iter(ENGLISH), settings=TrainSettings(vocab_size=300))
    with pytest.raises(UsageError, match="do not say of which language"):
        train_from_counts(counted, settings=_settings())
    with pytest.raises(UsageError, match="alpha is -1; it should be at least 0"):
        _settings(alpha=-1).check()
    with pytest.raises(UsageError, match="does not have max_alphabet"):
        _settings(max_alphabet=5).check()
    with pytest.raises(EmptyCorpusError, match="no text in any of the languages"):
        count_languages({"en": iter([""])}, settings=_settings())


def test_memory_files_and_checkpoints_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path)
    settings = _settings(language_by="folder")
    inputs = [tmp_path / name for name in TEXTS]
    reading: dict[str, Any] = {"settings": settings, "documents": "line"}
    whole = count_pretokens(inputs, **reading)
    expected = learn_from_counts(whole, settings=settings)

    small = count_pretokens(inputs, **reading, max_memory=16 << 20, temp_dir=tmp_path)
    assert small.counts.items() == whole.counts.items()
    assert all(language.counts.max_memory == (16 << 20) // 8 for language in small.languages)
    monkeypatch.setattr("jeton.training.languages._LEAST_SHARE", 3 << 20)
    with pytest.raises(UsageError, match="leaves 2,097,152 bytes for each of 3 languages"):
        count_pretokens(inputs, **reading, max_memory=16 << 20)
    monkeypatch.undo()

    part = tmp_path / "part"
    monkeypatch.setattr(Checkpoint, "is_due", _interrupt)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            count_pretokens(inputs, **reading, checkpoint=part, resume=True)
    assert {path.name for path in tmp_path.glob("part*")} >= {"part", "part.1-0"}
    monkeypatch.undo()
    resumed = count_pretokens(inputs, **reading, checkpoint=part, resume=True, keep_checkpoint=True)
    again = count_pretokens(inputs, **reading, checkpoint=part, resume=True)
    assert list(tmp_path.glob("part*")) == []
    other = _settings(language_by="file")
    for found in (small, resumed, again):
        assert found.sources == whole.sources
        learned = learn_from_counts(found, settings=settings)
        assert learned.tokenizer.fingerprint == expected.tokenizer.fingerprint
        assert learned.facts == expected.facts
    count_pretokens(inputs, **reading, checkpoint=part, keep_checkpoint=True)
    with pytest.raises(UsageError, match="other options"):
        count_pretokens(inputs, settings=other, documents="line", checkpoint=part, resume=True)


def _interrupt(_: Checkpoint) -> bool:
    os.kill(os.getpid(), signal.SIGINT)
    return False


def test_files_of_counts_are_languages(tmp_path: Path) -> None:
    _write(tmp_path / "in")
    run = CliRunner()
    counts = tmp_path / "counts"
    how = ("--algorithm", "parity-bpe", "-O", "language_field=lang", "-q")
    made = run.invoke(
        app, ["count-pretokens", str(tmp_path / "in" / "all.jsonl"), *how, "-o", str(counts)]
    )
    assert made.exit_code == 0, made.output
    files = [str(counts / f"{name}.counts") for name in ("el", "en", "ru")]
    assert made.stdout.split() == files
    size = ("--vocab-size", "340", "--no-special-tokens", "-q")
    text = [str(tmp_path / "in" / "all.jsonl"), *how, *size]
    assert run.invoke(app, ["train", *text, "-o", str(tmp_path / "text")]).exit_code == 0
    words = ["train", "--from-counts", *files, "--algorithm", "parity-bpe", *size]
    done = run.invoke(app, [*words, "-o", str(tmp_path / "files")])
    assert done.exit_code == 0, done.output
    cards = [read_card(card_path(tmp_path / name)) for name in ("text", "files")]
    assert cards[0].fingerprint == cards[1].fingerprint
    assert cards[0].learned == cards[1].learned
    weighted = run.invoke(
        app, [*words, "--weight", "el=5/2", "--min-count", "2", "-o", str(tmp_path / "weighted")]
    )
    assert weighted.exit_code == 0, weighted.output
    field = run.invoke(app, [*words, "-O", "language_field=lang", "-o", str(tmp_path / "no")])
    assert field.exit_code == 2
    assert "a file of counts has no field 'lang'" in field.stderr
