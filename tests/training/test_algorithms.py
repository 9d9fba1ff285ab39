"""Every algorithm besides byte-level BPE: what comes out, where it loads, what is refused."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton import _core
from jeton.cli.training_corpus import ALGORITHMS as NAMED
from jeton.errors import JetonWarning, TrainingError, UsageError
from jeton.training import ALGORITHMS, TrainSettings, count_pretokens, train, train_from_counts

SYLLABLES = ["ba", "ri", "ton", "de", "la", "mu", "ske", "or", "un", "ti", "ge", "wap"]


def corpus(n_lines: int, *, seed: int = 5) -> list[str]:
    """Lines of made-up words, the frequent ones far more frequent than the others."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(900)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    lines = []
    for _ in range(n_lines):
        line = rng.choices(words, weights=weights, k=rng.randint(3, 12))
        line[0] = line[0].capitalize()
        lines.append(" ".join(line) + rng.choice([".", "!", f" {rng.randint(1, 2000)}.", ""]))
    return lines


TEXTS = corpus(1500)
HELD_OUT = [*corpus(200, seed=6), "Überraschung: 漢字 and 😀!", "  two  spaces\tand a tab ", ""]

SMALL: dict[str, dict[str, Any]] = {
    "bpe": {"vocab_size": 500},
    "char-bpe": {"vocab_size": 300},
    "wordpiece": {"vocab_size": 300},
    "wordpiece-likelihood": {"vocab_size": 300, "min_frequency": 5},
    "unigram": {"vocab_size": 300},
    "sentencepiece-bpe": {"vocab_size": 300},
    "sentencepiece-word": {"vocab_size": 300},
    "sentencepiece-char": {"vocab_size": 34},
    "word": {"vocab_size": 300},
    "char": {"vocab_size": 34},
}


def test_every_algorithm_is_tried_and_offered() -> None:
    # These have tests of their own.
    own = {"superbpe", "parity-bpe", "trimmed-bpe", "min-token-unigram"}
    assert set(SMALL) | own == set(ALGORITHMS)
    assert set(NAMED) == set(ALGORITHMS)


@pytest.mark.filterwarnings("ignore:.* of the text:jeton.JetonWarning")
@pytest.mark.parametrize("algorithm", sorted(set(SMALL)))
def test_result_depends_on_text_and_settings_only(algorithm: str) -> None:
    options = SMALL[algorithm]
    one = train(iter(TEXTS), algorithm=algorithm, num_threads=1, **options)
    other = train(iter(TEXTS[::-1]), algorithm=algorithm, num_threads=3, **options)
    assert one.fingerprint == other.fingerprint
    assert one.vocab_size == options["vocab_size"]
    for text in HELD_OUT:
        one.decode(one.encode(text))


@pytest.mark.parametrize("algorithm", ["char-bpe", "wordpiece", "wordpiece-likelihood", "word"])
@pytest.mark.parametrize("pre_tokenizer", ["pattern", "whitespace", "whitespace_split"])
def test_same_ids_in_tokenizers(algorithm: str, pre_tokenizer: str, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    options = dict(SMALL[algorithm])
    if not algorithm.startswith("wordpiece"):
        options["pre_tokenizer"] = pre_tokenizer
    tokenizer = train(iter(TEXTS), algorithm=algorithm, **options)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    theirs = tokenizers.Tokenizer.from_file(str(path))
    if pre_tokenizer != "pattern":  # a pattern is read in the dialect of that library
        assert jeton.load(path).fingerprint == tokenizer.fingerprint
    for text in HELD_OUT:
        assert theirs.encode(text, add_special_tokens=False).ids == tokenizer.encode(text)
        with_special = theirs.encode(text, add_special_tokens=True).ids
        assert with_special == tokenizer.encode(text, add_special_tokens=True)


@pytest.mark.parametrize("suffix", ["", "</w>"])
@pytest.mark.parametrize("prefix", ["", "##"])
def test_marks_of_character_bpe_load_in_tokenizers(
    suffix: str, prefix: str, tmp_path: Path
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = train(
        iter(TEXTS),
        algorithm="char-bpe",
        vocab_size=300,
        pre_tokenizer="whitespace",
        end_of_word_suffix=suffix,
        continuing_prefix=prefix,
        forced_tokens=["baritone"],
    )
    tokenizer.save(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in [*HELD_OUT, "a baritone."]:
        assert theirs.encode(text).ids == tokenizer.encode(text)
    assert len(tokenizer.encode("baritone")) == 1


SENTENCEPIECE = ["unigram", "sentencepiece-bpe", "sentencepiece-word", "sentencepiece-char"]


@pytest.mark.parametrize("algorithm", SENTENCEPIECE)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"byte_fallback": True, "vocab_size": 560, "split_digits": True},
        {"add_dummy_prefix": False, "remove_extra_whitespaces": False, "unk_id": 3, "pad_id": 0},
        {"user_defined_symbols": ["<x>", "ba ri"], "special_tokens": ["<mask>"]},
        {"treat_whitespace_as_suffix": True, "split_by_number": False},
    ],
    ids=["default", "bytes", "spaces", "symbols", "suffix"],
)
@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
def test_same_ids_in_sentencepiece(algorithm: str, options: dict[str, Any], tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    settings = {**SMALL[algorithm], **options}
    tokenizer = train(iter(TEXTS), algorithm=algorithm, **settings)
    path = tmp_path / "tokenizer.model"
    tokenizer.save(path)
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    assert theirs.get_piece_size() == tokenizer.vocab_size
    for text in [*HELD_OUT, "<x> ba ri<mask>"]:
        assert theirs.encode(text) == tokenizer.encode(text)
    assert jeton.load(path).fingerprint == tokenizer.fingerprint


@pytest.mark.parametrize("algorithm", ["unigram", "sentencepiece-bpe"])
@pytest.mark.filterwarnings("ignore::jeton.errors.LossyConversionWarning")  # sums in 64 bits
def test_sentencepiece_models_become_tokenizer_json(algorithm: str, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = train(iter(TEXTS), algorithm=algorithm, vocab_size=560, byte_fallback=True)
    tokenizer.save(tmp_path / "tokenizer.json", lossy=algorithm == "unigram")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in HELD_OUT:
        assert theirs.encode(text, add_special_tokens=False).ids == tokenizer.encode(text)


def test_wordpiece_becomes_vocab_txt(tmp_path: Path) -> None:
    tokenizer = train(iter(TEXTS), algorithm="wordpiece", vocab_size=300)
    tokenizer.save(tmp_path / "vocab.txt")
    lines = (tmp_path / "vocab.txt").read_text(encoding="utf-8").splitlines()
    assert lines[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    again = jeton.load(tmp_path / "vocab.txt")
    for text in HELD_OUT:
        assert again.encode(text) == tokenizer.encode(text)


def pieces_of(tokenizer: _core.Tokenizer) -> list[str]:
    return [tokenizer.id_to_token(i) or "" for i in range(tokenizer.vocab_size)]


def test_pieces_of_bpe_are_those_of_sentencepiece(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    path = tmp_path / "text.txt"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(path),
        model_prefix=str(tmp_path / "theirs"),
        model_type="bpe",
        vocab_size=400,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    theirs = jeton.load(tmp_path / "theirs.model")
    ours = train([path], algorithm="sentencepiece-bpe", vocab_size=400)
    assert pieces_of(ours) == pieces_of(theirs)


def test_text_is_cut_where_it_spells_a_piece_of_the_model(tmp_path: Path) -> None:
    import sentencepiece

    path = tmp_path / "text.txt"
    lines = ["ab</s>cd <s>x <unk>y"] * 5 + ["abcd xy cdx unk s"] * 3
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(path),
        model_prefix=str(tmp_path / "theirs"),
        model_type="bpe",
        vocab_size=26,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    theirs = jeton.load(tmp_path / "theirs.model")
    ours = train(path, algorithm="sentencepiece-bpe", vocab_size=26, documents="line")
    assert pieces_of(ours) == pieces_of(theirs)
    assert b"<" not in {ours.id_to_bytes(i) for i in range(ours.vocab_size)}


def log_likelihood_per_char(path: Path, texts: list[str]) -> float:
    """Log likelihood of the best way to cut each text, by sentencepiece itself."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    score: float = sum(processor.get_score(i) for text in texts for i in processor.encode(text))
    return score / sum(map(len, texts))


def test_unigram_is_as_likely_as_sentencepieces(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    path = tmp_path / "text.txt"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(path),
        model_prefix=str(tmp_path / "theirs"),
        vocab_size=300,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    train([path], algorithm="unigram", vocab_size=300).save(tmp_path / "ours.model")
    held_out = corpus(400, seed=7)
    theirs = log_likelihood_per_char(tmp_path / "theirs.model", held_out)
    ours = log_likelihood_per_char(tmp_path / "ours.model", held_out)
    assert ours >= theirs


def test_wordpiece_by_frequency_is_that_of_tokenizers_without_ties() -> None:
    """Where pairs tie, chance decides in ``tokenizers``; here the most frequent pair is alone."""
    tokenizers = pytest.importorskip("tokenizers")
    words = {"ab": 100, "cd": 90, "abc": 37, "xy": 3, "xyz": 20, "xyzq": 7}
    texts = [f"{word} " * n for word, n in words.items()]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    theirs = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    theirs.normalizer = tokenizers.normalizers.BertNormalizer()
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    for n_merges in range(7):
        size = len(special) + 8 + 6 + n_merges
        trainer = tokenizers.trainers.WordPieceTrainer(
            vocab_size=size, special_tokens=special, show_progress=False
        )
        theirs.train_from_iterator(texts, trainer)
        ours = train(iter(texts), algorithm="wordpiece", vocab_size=size)
        vocab = theirs.get_vocab()
        assert set(pieces_of(ours)) == set(vocab)
        merged = [piece for piece in pieces_of(ours)[19:]]
        assert merged == sorted(merged, key=lambda piece: vocab[piece])


def test_likelihood_prefers_what_seldom_stands_apart() -> None:
    texts = ["qu " * 5 + "ea et ae te " * 50]
    merged = {}
    for algorithm in ("wordpiece", "wordpiece-likelihood"):
        tokenizer = train(iter(texts), algorithm=algorithm, vocab_size=11, special_tokens=["[UNK]"])
        merged[algorithm] = pieces_of(tokenizer)[-1]
    assert merged == {"wordpiece": "ae", "wordpiece-likelihood": "qu"}


def test_counts_serve_several_algorithms_that_cut_alike() -> None:
    settings = TrainSettings(algorithm="unigram", vocab_size=200)
    counted = count_pretokens(iter(TEXTS), settings=settings)
    for algorithm in ("unigram", "sentencepiece-bpe"):
        again = TrainSettings(algorithm=algorithm, vocab_size=200)
        tokenizer = train_from_counts(counted, settings=again)
        direct = train(iter(TEXTS), algorithm=algorithm, vocab_size=200)
        assert tokenizer.fingerprint == direct.fingerprint
    with pytest.raises(UsageError, match="cut in another way than algorithm 'char-bpe'"):
        train_from_counts(counted, settings=TrainSettings(algorithm="char-bpe", vocab_size=200))
    with pytest.raises(UsageError, match="cut in another way than algorithm 'unigram'"):
        train_from_counts(count_pretokens(iter(TEXTS)), settings=TrainSettings(algorithm="unigram"))


@pytest.mark.parametrize(
    ("algorithm", "options", "message"),
    [
        ("unigram", {"vocab": 3}, "has no option 'vocab'"),
        ("bpe", {"byte_fallback": True}, "has no option 'byte_fallback'; expected"),
        ("unigram", {"pattern": "gpt2"}, "does not take it"),
        ("unigram", {"character_coverage": 0.5}, "should be at least 0.98"),
        ("unigram", {"character_coverage": 1.5}, "should be at most 1"),
        ("unigram", {"shrinking_factor": 0.1}, "shrinking_factor is 0.1"),
        ("unigram", {"byte_fallback": "maybe"}, "options cannot be read"),
        ("unigram", {"user_defined_symbols": "<x>"}, r"user_defined_symbols=\['<x>'\]"),
        ("unigram", {"normalization_rule_name": "nfkd"}, "there is no charsmap"),
        ("char-bpe", {"ties": "coin"}, "expected one of ids, shorter"),
        ("char-bpe", {"pre_tokenizer": "bert"}, "expected one of pattern"),
        ("word", {"unk_token": ""}, "unk_token is empty"),
        ("wordpiece", {"continuing_subword_prefix": ""}, "algorithm='char-bpe'"),
        ("wordpiece", {"limit_alphabet": 0}, "limit_alphabet is 0"),
    ],
)
def test_options_that_cannot_be_meant(
    algorithm: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        train(iter(TEXTS), algorithm=algorithm, **options)


@pytest.mark.parametrize(
    ("algorithm", "options", "message"),
    [
        ("unigram", {"vocab_size": 10}, "too small"),
        ("sentencepiece-bpe", {"vocab_size": 10}, "too small"),
        ("sentencepiece-bpe", {"vocab_size": 200, "byte_fallback": True}, "259 symbols"),
        ("unigram", {"bos_id": 0}, "bos_id 0 is the id of two symbols"),
        ("unigram", {"eos_piece": "<s>"}, "text of two symbols"),
        ("unigram", {"unk_id": -1}, "byte_fallback is off"),
        ("unigram", {"control_symbols": ["<x>", "<x>"]}, '"<x>" is given twice'),
        ("unigram", {"user_defined_symbols": ["<unk>"]}, "is the unknown piece"),
        ("unigram", {"vocab_size": 300, "pad_id": 300}, "should be below vocab_size"),
        ("wordpiece", {"vocab_size": 10}, "too small"),
        ("wordpiece", {"special_tokens": ["x", "x"]}, '"x" is given twice'),
        ("char-bpe", {"special_tokens": ["a", "[UNK]"]}, '"a" is a character of the text'),
        ("char-bpe", {"forced_tokens": ["[UNK]"]}, "is a special token too"),
        ("word", {"vocab_size": 1}, "too small"),
    ],
)
def test_vocabularies_that_cannot_be_made(
    algorithm: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TrainingError, match=message):
        train(iter(TEXTS), algorithm=algorithm, **options)


@pytest.mark.parametrize("algorithm", sorted(set(SMALL) - {"bpe"}))
def test_tiny_texts_give_what_there_is(algorithm: str) -> None:
    with pytest.warns(JetonWarning, match="the text is enough for"):
        tokenizer = train(iter(["ab ab\nab"]), algorithm=algorithm, vocab_size=1000)
    assert 3 < tokenizer.vocab_size < 30
    assert tokenizer.encode("ab")


@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
def test_alphabets_can_be_limited() -> None:
    options: dict[str, Any] = {"vocab_size": 60, "limit_alphabet": 12, "required_chars": "Ω"}
    for algorithm in ("char-bpe", "sentencepiece-bpe", "unigram", "char"):
        tokenizer = train(iter(TEXTS), algorithm=algorithm, **options)
        pieces = pieces_of(tokenizer)
        assert "Ω" in pieces
        assert len([piece for piece in pieces if len(piece) == 1]) == 12


@pytest.mark.parametrize("algorithm", ["unigram", "wordpiece"])
def test_a_card_tells_the_options(algorithm: str) -> None:
    settings = TrainSettings(
        algorithm=algorithm, vocab_size=300, options={"limit_alphabet": 40, "required_chars": "x"}
    )
    written = json.loads(json.dumps(settings.to_dict()))
    assert written["options"] == {"limit_alphabet": 40, "required_chars": "x"}
    written["special_tokens"] = tuple(written["special_tokens"])
    assert TrainSettings(**written) == settings


def test_progress_of_unigram_is_told_and_can_stop_it() -> None:
    seen: list[tuple[str, int, int | None]] = []
    train(
        iter(TEXTS),
        algorithm="unigram",
        vocab_size=200,
        on_progress=lambda p: seen.append((p.stage, p.done, p.total)),
    )
    pruned = [(done, total) for stage, done, total in seen if stage == "prune"]
    assert pruned[-1][0] == pruned[-1][1]
    assert [done for done, _ in pruned] == sorted(done for done, _ in pruned)

    def stop(progress: Any) -> None:
        if progress.stage == "prune":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(iter(TEXTS), algorithm="unigram", vocab_size=200, on_progress=stop)
