"""Text around the first difference of two requests, from the requests whose text is at hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jeton.auditing.analyses.prefixes import common_prefix_chars
from jeton.auditing.caching.calls import Call
from jeton.auditing.caching.verdicts import CacheVerdict, Judged
from jeton.workload.inputs.requests import RequestEvidence
from jeton.workload.sampling.deep_sample import SampleDocument

_CHARS = 40
_MAX_PAIRS = 200
_TIME = re.compile(r"\d{1,2}:\d{2}|\d{4}-\d{2}-\d{2}|\b1[6-9]\d{8}\b|20\d\d/\d\d")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}|\b[0-9a-fA-F]{12,}\b|\b[A-Za-z]*[-_#]?\d{3,}\b")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Text before and after a change, and its kind (time, id; empty: as the blocks tell)."""

    before: str = ""
    after: str = ""
    kind: str = ""


class Excerpts:
    """Finds the text of two requests that differ.

    Args:
        evidence: The requests.
        documents: Requests of the sample.
    """

    def __init__(self, evidence: RequestEvidence, documents: Sequence[SampleDocument]) -> None:
        numbers = evidence.row_numbers
        self._by_row: dict[int, SampleDocument] = {}
        for document in documents:
            for number in document.rows:
                at = int(np.searchsorted(numbers, number))
                if at < len(numbers) and int(numbers[at]) == number:
                    self._by_row[at] = document

    def of(self, ordered: Sequence[Call], fault: Judged, places: Sequence[int]) -> Excerpt:
        """Return the text of a change; nothing where it is not at hand."""
        if fault.verdict is not CacheVerdict.CHANGED or fault.at < 0:
            return Excerpt()
        texts: list[str] = []
        for place in [fault.other, *places][:_MAX_PAIRS]:
            document = self._by_row.get(ordered[place].row) if place >= 0 else None
            if document is None:
                continue
            text = document.text
            if texts and text != texts[0]:
                return self._told(texts[0], text, fault)
            texts.append(text)
        return Excerpt()

    def _told(self, before: str, after: str, fault: Judged) -> Excerpt:
        at = common_prefix_chars(before, after)
        start = max(0, at - _CHARS)
        shown = [" ".join(text[start : at + _CHARS].split()) for text in (before, after)]
        kind = ""
        if fault.change == "wording":
            near = [text[max(0, at - 20) : at + 20] for text in (before, after)]
            if all(_TIME.search(text) for text in near):
                kind = "time"
            elif all(_ID.search(text) for text in near):
                kind = "id"
        return Excerpt(shown[0], shown[1], kind)
