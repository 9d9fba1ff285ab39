"""Token inspector: documents cut by every tokenizer, worst documents, worst terms.

A page that opens in any browser is bounded: documents are chosen (the worst of every tokenizer,
those on which tokenizers differ most, some of every script and language), long ones are shown by
their worst stretch, and their estimated size as JSON ends the choice. Shares and counts of scripts
and terms are of the whole sample all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, TextStats, Tokenizer
from jeton._shown import NotebookResult
from jeton.comparing.ranks import TermCuts, ranks_of, worst_terms
from jeton.corpus import open_documents
from jeton.corpus.languages import language_class
from jeton.errors import EmptyCorpusError
from jeton.metrics import script_use
from jeton.registry import TokenizerLike
from jeton.workload.choice import Chosen, choose_tokenizers
from jeton.workload.digests import digests_of
from jeton.workload.sampling.deep_sample import (
    DEEP_SAMPLE_BYTES,
    DeepSample,
    DeepSampler,
    SampleDocument,
)

MAX_JSON_BYTES = 1_800_000
"""Bytes of the documents with their tokens. The page around them stays below 3 MB, which opens at
once on a telephone and passes through most mail systems."""

MAX_DOCUMENTS = 300
"""More rows than that nobody scrolls through; search and the worst first find what matters."""

MAX_CHARS = 2_000
"""Characters of one document: a page; of longer ones the worst stretch of that length is shown."""

_MAX_MOVED_CHARS = 200
"""A stretch begins at most this much later than where it was found."""

_BYTES_PER_TOKEN_OF_JSON = 11
"""An id of five or six digits, a length, two commas, and its share of the table of tokens."""

_MIN_BYTES = 64
"""Shorter documents are not ranked: a word in another script is no finding."""

_SCRIPTS_OF_NOTHING = frozenset({"Common", "Inherited", "Unknown"})


@dataclass(frozen=True, slots=True)
class DocumentCut:
    """A document (or its stretch) under one tokenizer; places are code points of the stretch."""

    ids: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InspectedDocument:
    """One document of the page.

    Attributes:
        source: The input that it came from.
        domain: Its domain; None where it has none.
        language: A guess, as in the comparison.
        script: The script of most of its characters that have one; empty without any.
        text: The shown text.
        first_char: The code point of the document at which that begins.
        first_byte: The byte at which it begins.
        n_chars: Code points of the whole document.
        n_bytes: Bytes of the whole document as UTF-8.
        n_tokens: Tokens of the whole document, by tokenizer.
        n_copies: How many documents of the workload are the same.
        cuts: Cuts of the shown text, by tokenizer.
    """

    source: str
    domain: str | None
    language: str
    script: str
    text: str
    first_char: int
    first_byte: int
    n_chars: int
    n_bytes: int
    n_tokens: tuple[int, ...]
    n_copies: int
    cuts: tuple[DocumentCut, ...]


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """One token of a vocabulary: its bytes, its rank, how often the page shows it."""

    id: int
    data: bytes
    rank: int | None
    n_shown: int
    is_special: bool


@dataclass(frozen=True, slots=True)
class InspectedTokenizer:
    """A tokenizer with the tokens that the page shows.

    Attributes:
        name: Its name.
        algorithm: ``bpe``, ``unigram`` ...
        vocab_size: Rows that an embedding needs.
        rank_kind: ``"merge"``, ``"score"`` or empty, see `Ranks`.
        n_tokens: Tokens of the sample, copies counted.
        tokens: By id.
    """

    name: str
    algorithm: str
    vocab_size: int
    rank_kind: str
    n_tokens: int
    tokens: tuple[TokenFacts, ...]


@dataclass(frozen=True, slots=True)
class InspectedScript:
    """One script of the sample: its characters, and what each tokenizer makes of them."""

    script: str
    n_chars: int
    char_share: float
    n_tokens: tuple[int, ...]
    bytes_per_token: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Inspection(NotebookResult):
    """Contents of the inspector.

    Attributes:
        tokenizers: In the order given.
        documents: The worst first: fewest bytes per token under the first tokenizer.
        terms: The words whose pieces cost most.
        scripts: By their share of the characters.
        n_documents: Documents that were looked at.
        n_bytes: Their bytes.
        is_whole: True if these were all documents of the inputs.
    """

    _page = "jeton.report.inspector:inspector_html"
    _table = "documents"
    _line = ("tokenizers", "documents")

    tokenizers: tuple[InspectedTokenizer, ...]
    documents: tuple[InspectedDocument, ...]
    terms: tuple[TermCuts, ...]
    scripts: tuple[InspectedScript, ...]
    n_documents: int
    n_bytes: int
    is_whole: bool


def inspect_texts(
    inputs: Any,
    *,
    tokenizers: Iterable[TokenizerLike] | TokenizerLike,
    sample_bytes: int = DEEP_SAMPLE_BYTES,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    format: Literal["text", "jsonl"] | None = None,
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
) -> Inspection:
    """Prepare the inspector: documents cut by every tokenizer, the worst documents and terms.

    Args:
        inputs: Paths, folders, globs, ``"-"``, or an iterable of texts.
        tokenizers: One or more, each by its name, its path, or as an object.
        sample_bytes: If there is more text than this, an even draw is looked at.
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        format: Format of all inputs; None: by their names.
        strict: Text that is not valid Unicode is an error instead of being replaced.
        on_bad_record: ``"skip"`` leaves out records that cannot be read.

    Raises:
        UnknownTokenizerError: A name is not known.
        UsageError: No tokenizer was given, or one was given twice.
        EmptyCorpusError: There is no text.
        CorpusError: A record cannot be read.
        OSError: A file cannot be read.

    Example:
        >>> found = inspect_texts(iter(["immunoglobulin"]), tokenizers="jeton-medical-32k")
        >>> found.documents[0].n_tokens
        (1,)
    """
    chosen, _ = choose_tokenizers(tokenizers, current=None)
    stream = open_documents(
        inputs,
        field=field,
        documents=documents,
        format=format,
        strict=strict,
        on_bad_record=on_bad_record,
    )
    batches = ((file.path, batch) for file, batch in stream)
    return inspect_batches(batches, chosen, sample_bytes=sample_bytes)


def inspect_batches(
    batches: Iterable[tuple[str, TextBatch]],
    tokenizers: Sequence[Chosen],
    *,
    sample_bytes: int = DEEP_SAMPLE_BYTES,
) -> Inspection:
    """Prepare the inspector for batches with the names of their inputs; see `inspect_texts`."""
    sampler = DeepSampler(max_bytes=sample_bytes)
    n_bytes = 0
    for source, batch in batches:
        sampler.add(source, batch, digests_of(batch))
        n_bytes += batch.n_bytes
    if not n_bytes:
        raise EmptyCorpusError("the inputs hold no text\nhint: check the inputs and the format")
    return inspect_sample(
        sampler.sample(tokenizers[0].tokenizer, n_tokens_of_all=0, num_threads=None), tokenizers
    )


def inspect_sample(sample: DeepSample, tokenizers: Sequence[Chosen]) -> Inspection:
    """Prepare the inspector for a sample; the same sample gives the same inspection."""
    documents = [document for document in sample.documents if document.text]
    batch = TextBatch.from_texts([document.text for document in documents])
    sizes = np.diff(batch.offsets).astype(np.int64)
    copies = np.array([document.n_copies for document in documents], dtype=np.int64)
    counts = np.stack(
        [item.tokenizer.count_batch(batch).astype(np.int64) for item in tokenizers], axis=1
    )
    kinds = [_kind(document) for document in documents]
    chosen: list[tuple[int, InspectedDocument]] = []
    room = MAX_JSON_BYTES
    for place in _order(sizes, counts, kinds):
        shown = _document(
            documents[place], kinds[place], counts[place], int(sizes[place]), tokenizers
        )
        room -= _json_bytes(shown)
        if room < 0 and chosen:
            break
        chosen.append((place, shown))
        if len(chosen) == MAX_DOCUMENTS:
            break
    worst_first = sorted(
        chosen, key=lambda item: (sizes[item[0]] / max(1, counts[item[0], 0]), item[0])
    )
    shown_documents = tuple(document for _, document in worst_first)
    totals = (counts * copies[:, None]).sum(axis=0).tolist()
    return Inspection(
        tokenizers=tuple(
            _tokenizer(item, [document.cuts[index] for document in shown_documents], totals[index])
            for index, item in enumerate(tokenizers)
        ),
        documents=shown_documents,
        terms=worst_terms(
            ((document.text, document.n_copies) for document in documents),
            [item.tokenizer for item in tokenizers],
        ),
        scripts=_scripts(batch, tokenizers),
        n_documents=int(copies.sum()),
        n_bytes=int((sizes * copies).sum()),
        is_whole=sample.is_whole,
    )


def _kind(document: SampleDocument) -> tuple[str, str]:
    """Script and language."""
    stats = TextStats()
    stats.add(TextBatch.from_texts([document.text]), num_threads=1)
    scripts = {name: n for name, n in stats.script_chars.items() if name not in _SCRIPTS_OF_NOTHING}
    script = min(scripts, key=lambda name: (-scripts[name], name)) if scripts else ""
    return script, language_class(document.text.lower())


def _order(
    sizes: NDArray[np.int64], counts: NDArray[np.int64], kinds: list[tuple[str, str]]
) -> list[int]:
    """Places of documents, the most telling first, from several lists in turn."""
    n = len(sizes)
    tokens_per_byte = counts / np.maximum(sizes, 1)[:, None]
    # A document that is too short to be ranked comes last in its list.
    tokens_per_byte[sizes < _MIN_BYTES] *= 1e-6
    lists = [np.argsort(-column, kind="stable").tolist() for column in tokens_per_byte.T]
    if counts.shape[1] > 1:
        spread = tokens_per_byte.max(axis=1) - tokens_per_byte.min(axis=1)
        lists.append(np.argsort(-spread, kind="stable").tolist())
    lists.append(_one_of_each(kinds))
    lists.append(list(range(n)))  # in the order of their digests: an even draw
    order: dict[int, None] = {}
    for turn in range(n):
        for places in lists:
            if turn < len(places):
                order.setdefault(places[turn])
        if len(order) >= MAX_DOCUMENTS * 2:
            break
    return list(order)


def _one_of_each(kinds: list[tuple[str, str]]) -> list[int]:
    """The first document of every script and language, then the second ..."""
    n_seen: dict[tuple[str, str], int] = {}
    turns = []
    for place, kind in enumerate(kinds):
        n_seen[kind] = n_seen.get(kind, 0) + 1
        turns.append((n_seen[kind], place))
    return [place for _, place in sorted(turns)]


def _document(
    document: SampleDocument,
    kind: tuple[str, str],
    counts: NDArray[np.int64],
    n_bytes: int,
    tokenizers: Sequence[Chosen],
) -> InspectedDocument:
    first = _worst_stretch(document.text, tokenizers[0].tokenizer)
    text = document.text[first : first + MAX_CHARS]
    return InspectedDocument(
        source=document.source,
        domain=document.domain,
        language=kind[1],
        script=kind[0],
        text=text,
        first_char=first,
        first_byte=len(document.text[:first].encode()),
        n_chars=len(document.text),
        n_bytes=n_bytes,
        n_tokens=tuple(counts.tolist()),
        n_copies=document.n_copies,
        cuts=tuple(_cut(item.tokenizer, text) for item in tokenizers),
    )


def _worst_stretch(text: str, tokenizer: Tokenizer) -> int:
    """Where the stretch of `MAX_CHARS` with the most tokens begins."""
    if len(text) <= MAX_CHARS:
        return 0
    # Stretches overlap by half, so that none is cut in two by where stretches happen to begin.
    starts = list(range(0, len(text) - MAX_CHARS // 2, MAX_CHARS // 2))
    counts = tokenizer.count_batch(
        TextBatch.from_texts([text[start : start + MAX_CHARS] for start in starts])
    )
    # argmax takes the first of equal ones.
    start = starts[int(np.argmax(counts))]
    if start == 0:
        return 0
    # From a line or a word on, so that the first tokens are those of the whole document.
    line = text.find("\n", start, start + _MAX_MOVED_CHARS)
    space = text.find(" ", start, start + _MAX_MOVED_CHARS)
    return line + 1 if line >= 0 else space if space >= 0 else start


def _cut(tokenizer: Tokenizer, text: str) -> DocumentCut:
    encoding = tokenizer.encode_with_offsets(text)
    return DocumentCut(
        ids=tuple(encoding.ids.tolist()),
        starts=tuple(encoding.starts.tolist()),
        ends=tuple(encoding.ends.tolist()),
    )


def _json_bytes(document: InspectedDocument) -> int:
    """About as long as its JSON is; characters that are escaped there take more."""
    n_text = sum(6 if ord(char) < 0x20 else 1 for char in document.text)
    n_text += len(document.text.encode("utf-8", "replace")) - len(document.text)
    return n_text + 300 + sum(len(cut.ids) for cut in document.cuts) * _BYTES_PER_TOKEN_OF_JSON


def _tokenizer(item: Chosen, cuts: list[DocumentCut], n_tokens: int) -> InspectedTokenizer:
    tokenizer, ranks = item.tokenizer, ranks_of(item.tokenizer)
    all_ids = np.array([id_ for cut in cuts for id_ in cut.ids], dtype=np.int64)
    ids, n_shown = np.unique(all_ids, return_counts=True)
    special = tokenizer.special_tokens_mask(ids.astype(np.uint32)).tolist()
    return InspectedTokenizer(
        name=item.name,
        algorithm=tokenizer.algorithm,
        vocab_size=tokenizer.vocab_size,
        rank_kind=ranks.kind,
        n_tokens=n_tokens,
        tokens=tuple(
            TokenFacts(id_, tokenizer.id_to_bytes(id_), ranks.get(id_), n, is_special)
            for id_, n, is_special in zip(ids.tolist(), n_shown.tolist(), special, strict=True)
        ),
    )


def _scripts(batch: TextBatch, tokenizers: Sequence[Chosen]) -> tuple[InspectedScript, ...]:
    text = TextStats()
    text.add(batch)
    found = [
        {
            row.script: row
            for row in script_use(text, item.tokenizer.measure(batch, words=True, round_trip=False))
        }
        for item in tokenizers
    ]
    return tuple(
        InspectedScript(
            script=row.script,
            n_chars=row.n_chars,
            char_share=row.char_share,
            n_tokens=tuple(rows[row.script].n_tokens for rows in found),
            bytes_per_token=tuple(rows[row.script].bytes_per_token for rows in found),
        )
        for row in found[0].values()
    )
