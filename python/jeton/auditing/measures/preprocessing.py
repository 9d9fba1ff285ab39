"""Effect of preprocessing on the number of tokens: the sample before against the sample after.

The audited text is the text before preprocessing. Named steps are the usual ones; a command of the
user's own is run on each document of the sample, without a shell, and only where the caller says
that it may be.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from jeton._core import TextBatch, Tokenizer
from jeton.auditing.options.pipeline import Pipeline
from jeton.auditing.options.preprocessing_steps import step_named
from jeton.errors import UsageError
from jeton.metrics.bootstrap import bootstrap_ratio
from jeton.workload.sampling.deep_sample import DeepSample

MAX_COMMAND_DOCUMENTS = 100
"""Documents that a command is run on: a program that starts in a tenth of a second takes ten."""

COMMAND_TIMEOUT_SECONDS = 30
"""For one document; a program that waits for something else would wait forever."""

MAX_COMMAND_BYTES = 64 << 20
"""Output of a command for one document; more is a program gone wrong."""


@dataclass(frozen=True, slots=True)
class StepEffect:
    """Effect of one step on the tokens of the documents it was tried on.

    Attributes:
        name: The step, or the command as it was given.
        n_documents: Documents that it was tried on.
        n_changed: Documents that it changed.
        n_tokens_before: Their tokens before it, all earlier steps done.
        n_tokens_after: Their tokens after it.
        n_bytes_before: Their bytes before it.
        n_bytes_after: Their bytes after it.
        is_whole: True if these are all documents of the workload.
        growth_low: Lower end of the interval of tokens after over tokens before, less one; the
            growth itself where all documents were tried.
        growth_high: Upper end.
    """

    name: str
    n_documents: int
    n_changed: int
    n_tokens_before: int
    n_tokens_after: int
    n_bytes_before: int
    n_bytes_after: int
    is_whole: bool = True
    growth_low: float = 0.0
    growth_high: float = 0.0

    @property
    def growth(self) -> float:
        """Tokens after over tokens before, less one."""
        return self.n_tokens_after / max(1, self.n_tokens_before) - 1


def effects_of_preprocessing(
    pipeline: Pipeline,
    sample: DeepSample,
    tokenizer: Tokenizer,
    *,
    run_commands: bool,
    num_threads: int | None = None,
) -> tuple[StepEffect, ...]:
    """Try the pipeline's steps on the sample, one after another; the command comes last.

    Args:
        pipeline: The user's settings.
        sample: Documents before preprocessing.
        tokenizer: The tokenizer in use.
        run_commands: True if the pipeline's command may be run.
        num_threads: Threads of the core; None: all.

    Raises:
        UsageError: The command cannot be run, fails, takes too long or writes no UTF-8.
    """
    texts = [document.text for document in sample.documents]
    n_tokens = [document.n_tokens for document in sample.documents]
    effects = []
    for name in pipeline.preprocessing:
        step = step_named(name)
        after = [step(text) for text in texts]
        counts = _counts(after, tokenizer, num_threads)
        is_whole = sample.is_whole
        effects.append(_effect(name, texts, after, n_tokens, counts, is_whole=is_whole))
        texts, n_tokens = after, counts
    command = pipeline.preprocessing_command
    if command and run_commands:
        # In the order of the digests, the first documents are an even draw.
        texts, n_tokens = texts[:MAX_COMMAND_DOCUMENTS], n_tokens[:MAX_COMMAND_DOCUMENTS]
        after = [_run(command, text) for text in texts]
        counts = _counts(after, tokenizer, num_threads)
        is_whole = sample.is_whole and len(texts) == len(sample.documents)
        written = " ".join(command)
        effects.append(_effect(written, texts, after, n_tokens, counts, is_whole=is_whole))
    return tuple(effects)


def _counts(texts: list[str], tokenizer: Tokenizer, num_threads: int | None) -> list[int]:
    counts: list[int] = tokenizer.count_batch(texts, num_threads=num_threads).tolist()
    return counts


def _effect(
    name: str,
    before: list[str],
    after: list[str],
    tokens_before: list[int],
    counts: list[int],
    *,
    is_whole: bool,
) -> StepEffect:
    growth = sum(counts) / max(1, sum(tokens_before)) - 1
    # A document is what was drawn.
    interval = None if is_whole else bootstrap_ratio(counts, tokens_before)
    return StepEffect(
        name=name,
        n_documents=len(before),
        n_changed=sum(one != other for one, other in zip(before, after, strict=True)),
        n_tokens_before=sum(tokens_before),
        n_tokens_after=sum(counts),
        n_bytes_before=TextBatch.from_texts(before).n_bytes,
        n_bytes_after=TextBatch.from_texts(after).n_bytes,
        is_whole=is_whole,
        growth_low=growth if interval is None else interval.low - 1,
        growth_high=growth if interval is None else interval.high - 1,
    )


def _run(command: tuple[str, ...], text: str) -> str:
    written = " ".join(command)
    try:
        done = subprocess.run(
            command,
            input=text.encode(),
            capture_output=True,
            timeout=COMMAND_TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise UsageError(f"the preprocessing command {written!r} is not found") from error
    except OSError as error:
        raise UsageError(f"the preprocessing command {written!r} cannot be run: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"the preprocessing command {written!r} took over {COMMAND_TIMEOUT_SECONDS} seconds "
            "for one document; expected text on standard output"
        ) from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise UsageError(
            f"the preprocessing command {written!r} ended with {done.returncode}"
            + (f": {said[-1]}" if said else "")
        )
    if len(done.stdout) > MAX_COMMAND_BYTES:
        raise UsageError(
            f"the preprocessing command {written!r} wrote {len(done.stdout):,} bytes for one "
            f"document; expected at most {MAX_COMMAND_BYTES:,}"
        )
    try:
        return done.stdout.decode()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the preprocessing command {written!r} wrote bytes that are not UTF-8"
        ) from error
