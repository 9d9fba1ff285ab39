"""A sample of a corpus to try settings on: text to train on, and text to count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jeton import _core
from jeton.corpus import DomainsBy, open_documents

__all__ = ["Sample", "read_sample"]

MAX_SAMPLE_BYTES = 32_000_000
"""Text that trials train on: choices between settings show long before that."""

HELD_OUT_ONE_IN = 10
"""One document in so many is held out, by its digest."""


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
) -> Sample:
    """An even sample: documents are taken by their digests once there is more than enough.

    Args:
        inputs: The corpus, as ``open_documents`` takes it.
        reading: Options of ``open_documents``.
        domains_by: Files or folders are domains.
        domain_field: The field that names the domain.

    Raises:
        EmptyCorpusError: There is no text.
    """
    surveyor = _core.Surveyor((), block_bytes=1024, max_blocks=1)
    stream = open_documents(inputs, domains_by=domains_by, domain_field=domain_field, **reading)
    kept: list[tuple[int, int, str]] = []
    n_bytes, ceiling = 0, 2**64
    for _, batch in stream:
        domains = stream.batch_domains
        digests = surveyor.survey(batch).digests[0].tolist()
        for place, (digest, text) in enumerate(zip(digests, batch, strict=True)):
            if digest < ceiling:
                kept.append((digest, -1 if domains is None else int(domains[place]), text))
                n_bytes += len(text.encode())
        while n_bytes > 2 * MAX_SAMPLE_BYTES:
            # What a smaller share of all digests would have kept: no order, no chance in it.
            ceiling //= 2
            kept = [item for item in kept if item[0] < ceiling]
            n_bytes = sum(len(text.encode()) for _, _, text in kept)
    stream.require_text()
    sample = Sample([], [], [], [], list(stream.domains))
    for digest, domain, text in kept:
        # Low bits: the high ones decided what is kept.
        is_held = digest % HELD_OUT_ONE_IN == 0
        (sample.held if is_held else sample.train).append(text)
        (sample.held_domains if is_held else sample.train_domains).append(domain)
    return sample
