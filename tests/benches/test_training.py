"""Training benchmarks: runs, number, text and judgement. No timing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benches import many_words, record, summary, train, train_models, train_texts
from benches.harness import Row, rank
from benches.run import GROUPS, PARTS
from benches.targets import BY_KEY
from benches.texts import Sample
from benches.train_rounds import take_turns


def turns(seconds: Mapping[str, float | None], **options: Any) -> tuple[list[str], dict[str, Any]]:
    """Order of the libraries, where each takes this long; None fails."""
    ran: list[str] = []

    def once(name: str) -> dict[str, Any]:
        ran.append(name)
        took = seconds[name]
        if took is None:
            return {"failed": "signal 9"}
        return {"seconds": took, "added_memory_bytes": 1_000_000 * len(ran), "tokens": [name]}

    return ran, take_turns(list(seconds), once, **options)


def test_trainers_alternate_and_the_order_turns() -> None:
    ran, found = turns({"jeton": 1.0, "a": 2.0, "b": 3.0})
    assert ran == ["jeton", "a", "b", "a", "b", "jeton", "b", "jeton", "a"]
    assert found["a"].seconds == [2.0, 2.0, 2.0]
    assert found["a"].result == {"tokens": ["a"]}
    assert found["jeton"].held == "6 MB above the input"


def test_who_is_far_behind_runs_once_and_ours_always() -> None:
    ran, _ = turns({"jeton": 9.0, "a": 1.0, "slow": 3.1, "reference": 1.0}, single=["reference"])
    assert Counter(ran) == {"jeton": 3, "a": 3, "slow": 1, "reference": 1}
    ran, _ = turns({"jeton": 1.0, "only": 10.5})
    assert Counter(ran) == {"jeton": 3, "only": 2}
    ran, _ = turns({"jeton": 1.0, "only": 9.5})
    assert Counter(ran) == {"jeton": 3, "only": 3}


def test_who_fails_is_told_and_not_run_again() -> None:
    ran, found = turns({"jeton": 1.0, "broken": None})
    assert ran.count("broken") == 1
    assert (found["broken"].failed, found["broken"].seconds) == ("signal 9", [])


def test_who_trains_how_many_tokens() -> None:
    small, absent = train.taking_part(None, 2_000)
    assert absent == {}
    large, absent = train.taking_part(None, train.VOCAB_SIZES[0])
    assert set(small) - set(large) == set(absent) == {"bpeasy"}
    larger, absent = train.taking_part(None, train.VOCAB_SIZES[1])
    assert set(large) - set(larger) == {"gigatoken"}
    assert all(absent.values()), "the page says why"
    asked, absent = train.taking_part(["gigatoken"], 128_000)
    assert asked == ["jeton", "tokenizers", "gigatoken"]
    assert absent["ffbpe"] == "not asked for"


def test_tokens_agree_up_to_ties() -> None:
    reference = [f"{i:04x}" for i in range(1000)]
    assert train.agreement(list(reference), reference) == (None, None)
    swapped = [*reference[:5], "other", *reference[6:]]
    wrong, note = train.agreement(swapped, reference)
    assert wrong is None
    assert note == "other tie rule: 999 of 1000 tokens are the reference's"
    wrong, note = train.agreement(reference[:500], reference)
    assert (wrong, note) == ("500 of 1000 tokens are the reference's", None)


def test_texts_are_the_same_every_time_and_come_from_python_without_corpora(tmp_path: Path) -> None:
    english = train_texts.text("english", max_bytes=50_000, corpora=tmp_path)
    mixed = train_texts.text("mixed", max_bytes=50_000, corpora=tmp_path)
    assert (english.name, mixed.name) == ("python-documentation", "python-sources")
    assert english == train_texts.text("english", max_bytes=50_000, corpora=tmp_path)
    assert english.n_bytes >= 50_000
    assert sum(len(text.encode()) for text in english.documents[:-1]) < 50_000


def test_lines_apart_are_of_other_documents() -> None:
    sample = Sample.of("s", [f"first {i}\nsecond {i}" for i in range(10)])
    lines, apart = train_texts.lines_apart(sample, held_out_bytes=20)
    assert (len(lines), len(apart)) == (16, 4)
    assert apart == ["first 8", "second 8", "first 9", "second 9"]
    lines, apart = train_texts.lines_apart(sample, held_out_bytes=10**6)
    assert lines == ["first 0", "second 0"], "something is left to learn from"


def case(key: str, figure: str, **values: float) -> dict[str, Any]:
    rows = [Row(name, (value,) * 3, None, None, 100) for name, value in values.items()]
    return record.case("train", "v", "t", rank(rows), targets=[key], figure=figure)


def test_bars_in_seconds_need_no_peer() -> None:
    target = BY_KEY["train-superwords"]
    assert target.words == "15 s at most"
    within = case(target.key, "s", jeton=8.6)
    assert summary.judge(within, target).met is True
    cells = summary.table([within]).splitlines()
    (line,) = (each for each in cells if target.case in each)
    assert "| no peer does this | 8.60 s | met |" in line
    beyond = case(target.key, "s", jeton=15.5)
    assert summary.judge(beyond, target).met is False
    (line,) = (each for each in summary.table([beyond]).splitlines() if target.case in each)
    assert "**not met**" in line
    assert f"{target.case} |" in line


def test_likelihood_and_memory_are_ratios_of_the_peers() -> None:
    likely = case("train-unigram-objective", "nats", jeton=1.58, sentencepiece=1.59)
    assert summary.judge(likely, BY_KEY["train-unigram-objective"]).met is True
    worse = case("train-unigram-objective", "nats", jeton=1.60, sentencepiece=1.59)
    assert summary.judge(worse, BY_KEY["train-unigram-objective"]).met is False
    assert summary.figure(likely, likely["rows"][0]) == "1.5800"
    memory = case("train-unigram-memory", "MB", jeton=143e6, sentencepiece=2061e6)
    assert summary.judge(memory, BY_KEY["train-unigram-memory"]).met is True
    assert "143.0" in record.table(memory)
    # The columns of a case in seconds are seconds, whatever its text.
    assert "| s | median s |" in record.table(case("train-unigram", "s", jeton=1.0))


def test_one_word_names_all_parts_that_train() -> None:
    parts = GROUPS["train"]
    assert set(parts) <= set(PARTS)
    assert {each.part for each in BY_KEY.values() if each.key.startswith("train-")} == set(parts)
    assert not set(GROUPS) & set(PARTS)


def test_records_of_one_kind_are_not_those_of_another(tmp_path: Path) -> None:
    machine = {"cpu": "a processor"}
    made = {"date": "2026-11-22", "kind": "train-models", "machine": machine, "cases": []}
    record.write(made, folder=tmp_path)
    assert record.newest("models", cpu="a processor", folder=tmp_path) is None
    assert record.newest("train-models", cpu="a processor", folder=tmp_path) == made


def test_cases_of_one_day_are_kept_together_and_the_later_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, newest = record.write, record.newest
    monkeypatch.setattr(record, "write", lambda result: write(result, folder=tmp_path))
    monkeypatch.setattr(record, "newest", lambda kind, cpu: newest(kind, cpu=cpu, folder=tmp_path))

    def done(text: str, size: str, seconds: float) -> dict[str, Any]:
        return {**case(f"train-{text}", "s", jeton=seconds), "vocabulary": f"{size} tokens"}

    for each in (("mixed", "32,000", 2.0), ("english", "128,000", 1.0), ("english", "32,000", 0.5)):
        train.keep([done(*each)])
    train.keep([done("mixed", "32,000", 3.0)])
    (kept,) = record.newest_of_each("train-bpe", folder=tmp_path)
    found = [
        (c["targets"][0], c["vocabulary"], c["rows"][0]["median_value"]) for c in kept["cases"]
    ]
    assert found == [
        ("train-english", "32,000 tokens", 0.5),
        ("train-english", "128,000 tokens", 1.0),
        ("train-mixed", "32,000 tokens", 3.0),
    ]


def test_results_of_models_are_compared_by_their_tokens(tmp_path: Path) -> None:
    outs = {name: str(tmp_path / f"{name}.txt") for name in ("jeton", "tokenizers")}
    Path(outs["jeton"]).write_text("a\nb\nc\n", encoding="utf-8")
    Path(outs["tokenizers"]).write_text("a\nc\nd\n", encoding="utf-8")
    assert train_models.agreement(outs) == "2 of 3 tokens are those of tokenizers"
    Path(outs["tokenizers"]).write_text("a\nb\nc\n", encoding="utf-8")
    assert train_models.agreement(outs) == "the same tokens with the same ids as tokenizers"
    assert train_models.agreement({"jeton": outs["jeton"]}) is None


def test_words_are_the_same_every_time_and_nearly_all_distinct() -> None:
    made = list(many_words.texts(30_000))
    assert made == list(many_words.texts(30_000))
    assert made != list(many_words.texts(30_000, seed=1))
    words = Counter(word for text in made for word in text.split())
    assert words.total() == 60_000
    once = sum(n == 1 for n in words.values())
    assert 30_000 <= once < 38_000, "random words, and the rarest of the common ones"
    (_, most), (_, second) = words.most_common(2)
    assert 1.6 < most / second < 2.4, "1 / rank"


@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
def test_counts_and_what_is_learned_do_not_depend_on_memory(tmp_path: Path) -> None:
    results = []
    for name, limit in (("bounded", 16 << 20), ("unbounded", None)):
        out = str(tmp_path / name)
        counted = many_words.count(150_000, limit, str(tmp_path), out)
        learned = many_words.learn(out, limit, str(tmp_path), 300)
        results.append(counted | learned)
    bounded, unbounded = results
    assert bounded["n_bytes_spilled"] > 0 == unbounded["n_bytes_spilled"]
    assert [bounded[key] for key in many_words.SAME] == [unbounded[key] for key in many_words.SAME]
