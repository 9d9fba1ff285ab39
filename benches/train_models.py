"""Time training Unigram against ``sentencepiece`` and WordPiece against ``tokenizers``.

Each run is a process of its own that reads the same text file. The results are compared on text
kept apart: Unigram by the log likelihood per character of the best way to cut it, as
``sentencepiece`` itself scores both models; WordPiece by the tokens that both vocabularies share,
since chance breaks ties there.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from benches import record, texts, vocabularies
from benches.harness import Row, rank
from benches.isolated import peak_memory_bytes, run_task, start_peak_memory

__all__ = ["main", "train_once"]

TIMEOUT_S = 600.0
SAMPLE_BYTES = 20_000_000
HELD_OUT_BYTES = 1_000_000
VOCAB_SIZE = 32_000
THREADS = 2
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def _jeton_unigram(path: str, out: str, vocab_size: int) -> None:
    import jeton

    jeton.train(
        path, algorithm="unigram", vocab_size=vocab_size, num_threads=THREADS, documents="line"
    ).save(out)


def _sentencepiece_unigram(path: str, out: str, vocab_size: int) -> None:
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        input=path,
        model_prefix=out.removesuffix(".model"),
        vocab_size=vocab_size,
        num_threads=THREADS,
        normalization_rule_name="identity",
        max_sentence_length=1 << 24,
        minloglevel=2,
    )


def _jeton_wordpiece(path: str, out: str, vocab_size: int) -> None:
    import jeton

    tokenizer = jeton.train(
        path,
        algorithm="wordpiece",
        vocab_size=vocab_size,
        special_tokens=SPECIAL_TOKENS,
        num_threads=THREADS,
        documents="line",
    )
    tokenizer.save(out)


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
}
SUFFIXES = {"unigram": "tokenizer.model", "wordpiece": "vocab.txt"}


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


def _quality(algorithm: str, outs: dict[str, str], held_out: list[str]) -> dict[str, str]:
    """What to note of each result."""
    if algorithm == "wordpiece":
        found = {name: set(Path(out).read_text("utf-8").split("\n")) for name, out in outs.items()}
        theirs = found.get("tokenizers", set())
        common = len(found.get("jeton", set()) & theirs)
        return {"jeton": f"{common} of {len(theirs)} tokens are those of tokenizers"}
    import sentencepiece

    notes = {}
    for name, out in outs.items():
        processor = sentencepiece.SentencePieceProcessor(model_file=out)
        score = sum(processor.get_score(id) for text in held_out for id in processor.encode(text))
        per_char = score / sum(map(len, held_out))
        notes[name] = f"{per_char:.4f} log likelihood per character of text kept apart"
    return notes


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="little text, a small vocabulary")
    parser.add_argument("--file", help="text to train on, one document a line")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--vocab-size", type=int, default=VOCAB_SIZE)
    options = parser.parse_args(arguments)
    vocab_size = 2_000 if options.quick else options.vocab_size
    held = HELD_OUT_BYTES
    folder = vocabularies.ROOT / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    if options.file:
        lines = Path(options.file).read_text(encoding="utf-8").splitlines()
    else:
        max_bytes = 1_000_000 if options.quick else SAMPLE_BYTES
        sample = texts.samples(max_bytes=max_bytes)[0]
        lines = [line for document in sample.documents for line in document.splitlines()]
    kept: list[str] = []
    while held > 0 and len(lines) > 1 and not len(kept) > len(lines):
        kept.append(lines.pop())
        held -= len(kept[-1])
    path = folder / "train-models.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for algorithm, trainers in TRAINERS.items():
        with tempfile.TemporaryDirectory() as out_folder:
            outs = {}
            times: dict[str, list[float]] = {name: [] for name in trainers}
            memory: dict[str, int] = {}
            failed: dict[str, str] = {}
            for _ in range(1 if options.quick else options.runs):
                for name in trainers:
                    own = Path(out_folder) / name
                    own.mkdir(exist_ok=True)
                    outs[name] = str(own / SUFFIXES[algorithm])
                    task = {
                        "algorithm": algorithm,
                        "name": name,
                        "path": str(path),
                        "out": outs[name],
                        "vocab_size": vocab_size,
                    }
                    result = run_task("benches.train_models:train_once", task, timeout_s=TIMEOUT_S)
                    if "failed" in result:
                        failed[name] = result["failed"]
                        continue
                    times[name].append(result["seconds"])
                    memory[name] = result["added_memory_bytes"] or 0
            notes = _quality(algorithm, {n: o for n, o in outs.items() if n not in failed}, kept)
            rows = [
                Row(
                    name,
                    tuple(times[name]) if name not in failed else (),
                    None,
                    failed.get(name),
                    path.stat().st_size,
                    note=f"{memory.get(name, 0) / 1e6:.0f} MB; {notes.get(name, '')}",
                )
                for name in trainers
            ]
            ranked = rank(rows)
            case = record.case(f"train {algorithm}", f"{vocab_size} tokens", path.name, ranked)
            print(record.table(case), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
