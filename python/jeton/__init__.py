"""Jeton: tokenization engineering. What tokenization costs a workload, and what to change.

    import jeton

    tok = jeton.load("cl100k_base")
    ids = tok.encode("Hello world")
    report = jeton.audit(["notes/"], tokenizers=["cl100k_base", "jeton-medical-32k"])

Only public names live here. What is heavy is imported when it is first used, so that
``import jeton`` stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton._core import (
    Encoding,
    GrowingText,
    ModelInputs,
    NoncanonicalIds,
    TextBatch,
    TokenBatch,
    Tokenizer,
    __version__,
)
from jeton._lazy import lazy_names
from jeton.errors import (
    AdaptError,
    ApproximationWarning,
    CatalogError,
    CorpusError,
    DecodeError,
    EmptyCorpusError,
    EncodeError,
    EndlessInputWarning,
    FormatError,
    InvalidTextError,
    JetonError,
    JetonWarning,
    LimitError,
    LossyConversionError,
    LossyConversionWarning,
    MissingExtraError,
    ModelConfigError,
    PatternCostError,
    PatternError,
    RecordError,
    StalePriceWarning,
    TemplateError,
    TemplateLimitError,
    TrainingError,
    UnknownGpuError,
    UnknownModelError,
    UnknownNumberFormatError,
    UnknownPriceError,
    UnknownSpecialTokenError,
    UnknownTokenIdError,
    UnknownTokenizerError,
    UsageError,
    VocabularyError,
)

if TYPE_CHECKING:
    from jeton.auditing import audit
    from jeton.comparing import compare
    from jeton.converting import convert
    from jeton.explaining import explain
    from jeton.pricing import ledger, read_usage
    from jeton.probe import probe_digest
    from jeton.registry import load
    from jeton.training import train

__all__ = [
    "AdaptError",
    "ApproximationWarning",
    "CatalogError",
    "CorpusError",
    "DecodeError",
    "EmptyCorpusError",
    "EncodeError",
    "Encoding",
    "EndlessInputWarning",
    "FormatError",
    "GrowingText",
    "InvalidTextError",
    "JetonError",
    "JetonWarning",
    "LimitError",
    "LossyConversionError",
    "LossyConversionWarning",
    "MissingExtraError",
    "ModelConfigError",
    "ModelInputs",
    "NoncanonicalIds",
    "PatternCostError",
    "PatternError",
    "RecordError",
    "StalePriceWarning",
    "TemplateError",
    "TemplateLimitError",
    "TextBatch",
    "TokenBatch",
    "Tokenizer",
    "TrainingError",
    "UnknownGpuError",
    "UnknownModelError",
    "UnknownNumberFormatError",
    "UnknownPriceError",
    "UnknownSpecialTokenError",
    "UnknownTokenIdError",
    "UnknownTokenizerError",
    "UsageError",
    "VocabularyError",
    "__version__",
    "audit",
    "compare",
    "convert",
    "explain",
    "ledger",
    "load",
    "probe_digest",
    "read_usage",
    "train",
]

# Public functions that live in packages which take long to import.
_LAZY = {
    "audit": "jeton.auditing",
    "compare": "jeton.comparing",
    "convert": "jeton.converting",
    "explain": "jeton.explaining",
    "ledger": "jeton.pricing",
    "load": "jeton.registry",
    "probe_digest": "jeton.probe",
    "read_usage": "jeton.pricing",
    "train": "jeton.training",
}

__getattr__, __dir__ = lazy_names(__name__, _LAZY)
