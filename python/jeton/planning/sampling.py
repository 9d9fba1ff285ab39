"""A sample of a corpus to try settings on: text to train on, and text to count."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from jeton._core import Surveyor, TextBatch
from jeton._plain import counted
from jeton.corpus import DomainsBy, NearDuplicateSettings, open_documents
from jeton.corpus.holdout import HELD_OUT, TRAINED, HoldOut, HoldOutSplit
from jeton.errors import JetonWarning

MAX_SAMPLE_BYTES = 32_000_000
"""Text that trials train on: choices between settings show long before that."""

HELD_OUT_SHARE = 0.1
"""Share of the documents, or of the sources."""

_SEED = 1
"""Not 0: a sample is taken by the digests themselves, so what is held out is drawn from them."""


@dataclass(slots=True)
class Sample:
    """Documents to train trials on and documents to count, with their domains."""

    train: list[str]
    held: list[str]
    train_domains: list[int]
    held_domains: list[int]
    names: list[str]

    @property
    def n_bytes(self) -> int:
        """Bytes of all of them, UTF-8."""
        return sum(len(text.encode()) for text in (*self.train, *self.held))


def read_sample(
    inputs: Any,
    reading: dict[str, Any],
    *,
    domains_by: DomainsBy | None,
    domain_field: str,
    hold_out_by: Literal["document", "source"] = "document",
    num_threads: int | None = None,
) -> Sample:
    """An even sample: documents are taken by their digests once there is more than enough.

    Args:
        inputs: The corpus, as ``open_documents`` takes it.
        reading: Options of ``open_documents``.
        domains_by: Files or folders are domains.
        domain_field: The field that names the domain.
        hold_out_by: Documents of all sources are held out, or whole sources. Nearly alike documents
            are never on both sides; a document that resembles both is on neither.
        num_threads: Threads; None: all there are. Does not change the result.

    Raises:
        EmptyCorpusError: There is no text.
    """
    surveyor = Surveyor((), block_bytes=1024, max_blocks=1)
    stream = open_documents(inputs, domains_by=domains_by, domain_field=domain_field, **reading)
    kept: list[tuple[str, int, int, str]] = []
    by_source = hold_out_by == "source"
    n_bytes, ceiling = 0, 2**64
    for file, batch in stream:
        domains = stream.batch_domains
        digests = surveyor.survey(batch).digests[0].tolist()
        for place, (digest, text) in enumerate(zip(digests, batch, strict=True)):
            if digest < ceiling:
                domain = -1 if domains is None else int(domains[place])
                kept.append((file.path if by_source else "", digest, domain, text))
                n_bytes += len(text.encode())
        while n_bytes > 2 * MAX_SAMPLE_BYTES:
            # The sample that a smaller share of all digests would have kept: no order, no chance in
            # it.
            ceiling //= 2
            kept = [item for item in kept if item[1] < ceiling]
            n_bytes = sum(len(text.encode()) for *_, text in kept)
    stream.require_text()
    if stream.n_null_documents or stream.n_bad_records:
        first = f", the first: {stream.first_bad_record}" if stream.n_bad_records else ""
        warnings.warn(
            f"left out: {counted(stream.n_null_documents, 'record')} whose text is null, "
            f"{counted(stream.n_bad_records, 'record')} that cannot be used{first}",
            JetonWarning,
            stacklevel=3,
        )
    sample = Sample([], [], [], [], list(stream.domains))
    split = HoldOutSplit(
        HoldOut(share=HELD_OUT_SHARE, by=hold_out_by, near=NearDuplicateSettings(), seed=_SEED)
    )
    # Which of near-duplicates is the first must not depend on the order of the inputs.
    kept.sort()
    for source, documents in groupby(kept, key=lambda item: item[0]):
        of_source = list(documents)
        texts = TextBatch.from_texts([text for _, _, _, text in of_source])
        sides = split.sides(texts, source=source, num_threads=num_threads)
        for side, (_, _, domain, text) in zip(sides.tolist(), of_source, strict=True):
            if side == HELD_OUT:
                sample.held.append(text)
                sample.held_domains.append(domain)
            elif side == TRAINED:
                sample.train.append(text)
                sample.train_domains.append(domain)
    return sample
