"""Time training Unigram and BPE against ``sentencepiece``, WordPiece against ``tokenizers``.

Each run is a process of its own that reads the same text file. The results are compared on text
kept apart: Unigram by the log likelihood per character of the best way to cut it, as
``sentencepiece`` itself scores both models; the others by their tokens.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from benches import record, train_texts, vocabularies
from benches.harness import Row, rank
from benches.isolated import peak_memory_bytes, run_task, start_peak_memory
from benches.machine import header
from benches.texts import Sample
from benches.train_rounds import CAVEATS as ROUNDS
from benches.train_rounds import RUNS, Trained, take_turns

__all__ = ["agreement", "log_likelihood", "main", "train_once"]

TIMEOUT_S = 300.0
HELD_OUT_BYTES = 1_000_000
VOCAB_SIZE = 32_000
QUICK_VOCAB_SIZE = 2_000
THREADS = 2
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CAVEATS = (
    *ROUNDS,
    "the corpora english, legal and medical, their documents shuffled, as many as make 100 MB, a "
    "line each; the lines of the last documents (1 MB) are kept apart",
    f"{THREADS} threads for Jeton and sentencepiece; tokenizers takes as many as there are cores",
    "sentencepiece 0.2.3 trains without a normalization rule, as Jeton does by default; all else "
    "is its default but for the longest line",
)


def _jeton(path: str, out: str, vocab_size: int, algorithm: str, **further: Any) -> None:
    import jeton

    tokenizer = jeton.train(
        path,
        algorithm=algorithm,
        vocab_size=vocab_size,
        num_threads=THREADS,
        documents="line",
        **further,
    )
    tokenizer.save(out)


def _jeton_unigram(path: str, out: str, vocab_size: int) -> None:
    _jeton(path, out, vocab_size, "unigram")


def _jeton_sentencepiece_bpe(path: str, out: str, vocab_size: int) -> None:
    _jeton(path, out, vocab_size, "sentencepiece-bpe")


def _jeton_wordpiece(path: str, out: str, vocab_size: int) -> None:
    _jeton(path, out, vocab_size, "wordpiece", special_tokens=SPECIAL_TOKENS)


def _sentencepiece(path: str, out: str, vocab_size: int, model_type: str) -> None:
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        input=path,
        model_type=model_type,
        model_prefix=out.removesuffix(".model"),
        vocab_size=vocab_size,
        num_threads=THREADS,
        normalization_rule_name="identity",
        max_sentence_length=1 << 24,
        minloglevel=2,
    )


def _sentencepiece_unigram(path: str, out: str, vocab_size: int) -> None:
    _sentencepiece(path, out, vocab_size, "unigram")


def _sentencepiece_bpe(path: str, out: str, vocab_size: int) -> None:
    _sentencepiece(path, out, vocab_size, "bpe")


def _tokenizers_wordpiece(path: str, out: str, vocab_size: int) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size, special_tokens=SPECIAL_TOKENS, show_progress=False
    )
    tokenizer.train([path], trainer)
    vocab = tokenizer.get_vocab()
    lines = sorted(vocab, key=lambda token: vocab[token])
    Path(out).write_text("\n".join(lines) + "\n", encoding="utf-8")


TRAINERS: dict[str, dict[str, Callable[[str, str, int], None]]] = {
    "unigram": {"jeton": _jeton_unigram, "sentencepiece": _sentencepiece_unigram},
    "wordpiece": {"jeton": _jeton_wordpiece, "tokenizers": _tokenizers_wordpiece},
    "sentencepiece-bpe": {"jeton": _jeton_sentencepiece_bpe, "sentencepiece": _sentencepiece_bpe},
}
FILES = {
    "unigram": "tokenizer.model",
    "wordpiece": "vocab.txt",
    "sentencepiece-bpe": "tokenizer.model",
}
TITLES = {
    "unigram": "train Unigram",
    "wordpiece": "train WordPiece",
    "sentencepiece-bpe": "train SentencePiece-BPE",
}
TARGETS = {"unigram": ["train-unigram"], "wordpiece": ["train-wordpiece"]}


def train_once(algorithm: str, name: str, path: str, out: str, vocab_size: int) -> dict[str, Any]:
    """In a fresh process: train once. Seconds, memory."""
    __import__(name)
    before = start_peak_memory()
    start = perf_counter()
    TRAINERS[algorithm][name](path, out, vocab_size)
    seconds = perf_counter() - start
    peak = peak_memory_bytes()
    added = None if before is None or peak is None else peak - before
    return {"seconds": seconds, "added_memory_bytes": added}


def log_likelihood(model: str, lines: list[str]) -> float:
    """Per character, of the most likely way to cut each line, as ``sentencepiece`` scores it."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=model)
    total = sum(processor.get_score(id) for line in lines for id in processor.encode(line))
    return float(total / sum(map(len, lines)))


def _tokens(path: str) -> list[str]:
    """Tokens of a result, in the order of ids."""
    if path.endswith(".txt"):
        return Path(path).read_text("utf-8").splitlines()
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=path)
    return [processor.id_to_piece(id) for id in range(processor.get_piece_size())]


def agreement(outs: Mapping[str, str]) -> str | None:
    """How many tokens ours and the other's share."""
    if len(outs) < 2 or "jeton" not in outs:
        return None
    (peer,) = (name for name in outs if name != "jeton")
    ours, theirs = _tokens(outs["jeton"]), _tokens(outs[peer])
    if ours == theirs:
        return f"the same tokens with the same ids as {peer}"
    return f"{len(set(ours) & set(theirs))} of {len(theirs)} tokens are those of {peer}"


def _case(
    algorithm: str, text: str, vocab_size: int, rows: list[Row], **further: Any
) -> dict[str, Any]:
    title, what = TITLES[algorithm], further.pop("what", "")
    text = f"{text}, {what}" if what else text
    return record.case(title, f"{vocab_size:,} tokens", text, rank(rows), **further)


def _cases(
    algorithm: str,
    found: Mapping[str, Trained],
    outs: Mapping[str, str],
    text: str,
    vocab_size: int,
    n_bytes: int,
    apart: list[str],
) -> list[dict[str, Any]]:
    """Seconds, and for Unigram memory and likelihood, each in a table of its own."""
    outs = {name: out for name, out in outs.items() if found[name].seconds}
    shared = agreement(outs)
    rows = []
    for trained in found.values():
        notes = [trained.held, shared if trained.name == "jeton" else None]
        note = "; ".join(words for words in notes if words) or None
        rows.append(
            Row(trained.name, tuple(trained.seconds), None, trained.failed, n_bytes, note=note)
        )
    cases = [
        _case(algorithm, text, vocab_size, rows, targets=TARGETS.get(algorithm, ()), figure="s"),
    ]
    if algorithm != "unigram":
        return cases
    memory = [
        Row(each.name, tuple(map(float, each.memory)), None, each.failed, n_bytes)
        for each in found.values()
    ]
    likelihoods = [
        Row(name, (-log_likelihood(out, apart),), None, None, sum(map(len, apart)))
        for name, out in outs.items()
    ]
    cases.append(
        _case(
            algorithm,
            text,
            vocab_size,
            memory,
            what="memory",
            targets=["train-unigram-memory"],
            figure="MB",
        )
    )
    cases.append(
        _case(
            algorithm,
            text,
            vocab_size,
            likelihoods,
            what="negative log likelihood per character of text kept apart",
            targets=["train-unigram-objective"],
            figure="nats",
        )
    )
    return cases


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="little text, a small vocabulary")
    parser.add_argument("--record", action="store_true", help="keep the result")
    parser.add_argument("--file", help="text to train on, one document a line")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--vocab-size", type=int, default=VOCAB_SIZE)
    parser.add_argument("--algorithm", action="append", choices=TRAINERS, help="may be repeated")
    options = parser.parse_args(arguments)
    vocab_size = QUICK_VOCAB_SIZE if options.quick else options.vocab_size
    max_bytes = train_texts.QUICK_BYTES if options.quick else train_texts.FULL_BYTES
    if options.file:
        given = Path(options.file).read_text(encoding="utf-8").splitlines()
        sample = Sample.of("file", given)
    else:
        sample = train_texts.text("english", max_bytes=max_bytes)
    held_out = min(HELD_OUT_BYTES, sample.n_bytes // 10)
    lines, apart = train_texts.lines_apart(sample, held_out_bytes=held_out)
    folder = vocabularies.ROOT / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "train-models.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    cases = []
    for algorithm in options.algorithm or TRAINERS:
        with tempfile.TemporaryDirectory() as out_folder:
            names = list(TRAINERS[algorithm])
            outs = {name: str(Path(out_folder) / name / FILES[algorithm]) for name in names}
            for out in outs.values():
                Path(out).parent.mkdir()

            def once(
                name: str, algorithm: str = algorithm, outs: dict[str, str] = outs
            ) -> dict[str, Any]:
                task = {
                    "algorithm": algorithm,
                    "name": name,
                    "path": str(path),
                    "out": outs[name],
                    "vocab_size": vocab_size,
                }
                return run_task("benches.train_models:train_once", task, timeout_s=TIMEOUT_S)

            found = take_turns(names, once, runs=1 if options.quick else options.runs)
            n_bytes = path.stat().st_size
            for case in _cases(algorithm, found, outs, sample.name, vocab_size, n_bytes, apart):
                cases.append(case)
                print(record.table(case), flush=True)
    if options.record:
        head = header(
            kind="train-models",
            command="python -m benches.run --only train-models",
            distributions=["jeton", "sentencepiece", "tokenizers"],
            caveats=CAVEATS,
        )
        print(f"recorded: {record.write({**head, 'cases': cases}).name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
