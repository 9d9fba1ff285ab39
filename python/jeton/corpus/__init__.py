"""Documents in: files, folders, globs, standard input and iterables become batches of text.

``expand_inputs`` says which files are meant, ``open_documents`` streams their documents,
``open_requests`` the requests of logs, ``require_text`` refuses a corpus without any,
``read_terms`` reads a list of terms, ``read_trace`` times and lengths of real traffic.
``CorpusCare`` says what is done with documents before they count: weights, duplicates, quality,
what is held out; ``CharacterStatistics`` which characters there are. Reading holds no more than two
batches and the longest document in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton._lazy import lazy_names

if TYPE_CHECKING:
    from jeton.corpus.care import CareTally, CorpusCare
    from jeton.corpus.characters import CharacterStatistics
    from jeton.corpus.dedup import NearDuplicateSettings
    from jeton.corpus.documents import DocumentStream, open_documents, require_text
    from jeton.corpus.holdout import HoldOut
    from jeton.corpus.inputs import DomainsBy, Format, InputFile, expand_inputs
    from jeton.corpus.requests import RequestStream, open_requests
    from jeton.corpus.requests.columns import Correction, RequestBatch, RequestColumns
    from jeton.corpus.requests.issues import LogIssue
    from jeton.corpus.requests.messages import ChatRenderer
    from jeton.corpus.requests.summary import ModelRequests, RequestsSummary
    from jeton.corpus.terms import read_terms
    from jeton.corpus.traces import Trace, read_trace

__all__ = [
    "CareTally",
    "CharacterStatistics",
    "ChatRenderer",
    "CorpusCare",
    "Correction",
    "DocumentStream",
    "DomainsBy",
    "Format",
    "HoldOut",
    "InputFile",
    "LogIssue",
    "ModelRequests",
    "NearDuplicateSettings",
    "RequestBatch",
    "RequestColumns",
    "RequestStream",
    "RequestsSummary",
    "Trace",
    "expand_inputs",
    "open_documents",
    "open_requests",
    "read_terms",
    "read_trace",
    "require_text",
]

# Loaded when first asked for: who reads text files needs none of the readers of logs.
_LAZY = {
    **dict.fromkeys(("CareTally", "CorpusCare"), "jeton.corpus.care"),
    "CharacterStatistics": "jeton.corpus.characters",
    "NearDuplicateSettings": "jeton.corpus.dedup",
    **dict.fromkeys(("DocumentStream", "open_documents", "require_text"), "jeton.corpus.documents"),
    "DomainsBy": "jeton.corpus.inputs",
    "HoldOut": "jeton.corpus.holdout",
    **dict.fromkeys(("Format", "InputFile", "expand_inputs"), "jeton.corpus.inputs"),
    **dict.fromkeys(("RequestStream", "open_requests"), "jeton.corpus.requests"),
    **dict.fromkeys(
        ("Correction", "RequestBatch", "RequestColumns"), "jeton.corpus.requests.columns"
    ),
    "LogIssue": "jeton.corpus.requests.issues",
    "ChatRenderer": "jeton.corpus.requests.messages",
    **dict.fromkeys(("ModelRequests", "RequestsSummary"), "jeton.corpus.requests.summary"),
    "read_terms": "jeton.corpus.terms",
    **dict.fromkeys(("Trace", "read_trace"), "jeton.corpus.traces"),
}

__getattr__, __dir__ = lazy_names(__name__, _LAZY)
