"""Jeton: tokenization engineering. Tells the cost of tokens for a workload, and what to change.

    import jeton

    tok = jeton.load("cl100k_base")
    ids = tok.encode("Hello world")
    report = jeton.audit(["notes/"], tokenizers=["cl100k_base", "jeton-medical-32k"])

Only public names live here. Heavy modules are imported when they are first used, so ``import
jeton`` stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from jeton._core import (
    Encoding,
    GrowingText,
    Growth,
    GuardedEncoding,
    ModelInputs,
    NoncanonicalIds,
    Segmentation,
    TextBatch,
    TokenBatch,
    Tokenizer,
    __version__,
)
from jeton._forks import meet_before_forks
from jeton._lazy import lazy_names
from jeton.errors import (
    AdaptError,
    ApproximationWarning,
    CatalogError,
    ClusterError,
    CorpusError,
    DecodeError,
    EmptyCorpusError,
    EncodeError,
    EndlessInputWarning,
    FormatError,
    GuardRejected,
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

meet_before_forks()

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jeton.auditing import audit
    from jeton.benchmarking import bench
    from jeton.chunking.documents import chunk
    from jeton.comparing import compare, inspect_texts
    from jeton.converting import convert
    from jeton.datasets import tokenize_dataset, transcode_dataset, verify_dataset
    from jeton.doctor import diagnose
    from jeton.economics.ledger.logs import ledger, read_usage
    from jeton.estimating.bounds import TokenBounds
    from jeton.explaining import explain
    from jeton.locking import compare_locks, make_lock
    from jeton.planning.cost_aware import cost_aware
    from jeton.planning.packing import pack
    from jeton.planning.recommend import recommend
    from jeton.planning.serving import plan_admission, plan_chunks, plan_fleet
    from jeton.planning.sweep import sweep
    from jeton.preprocess import PreprocessOptions, preprocess_files, preprocess_texts
    from jeton.probe import probe_digest
    from jeton.progress import Progress
    from jeton.registry import list_vocabularies, load
    from jeton.training import continue_training, count_pretokens, train

__all__ = [
    "AdaptError",
    "ApproximationWarning",
    "CatalogError",
    "ClusterError",
    "CorpusError",
    "DecodeError",
    "EmptyCorpusError",
    "EncodeError",
    "Encoding",
    "EndlessInputWarning",
    "FormatError",
    "GrowingText",
    "Growth",
    "GuardRejected",
    "GuardedEncoding",
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
    "PreprocessOptions",
    "Progress",
    "RecordError",
    "Segmentation",
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
    "bench",
    "chunk",
    "compare",
    "compare_locks",
    "continue_training",
    "convert",
    "cost_aware",
    "count_pretokens",
    "diagnose",
    "explain",
    "inspect_texts",
    "ledger",
    "list_vocabularies",
    "load",
    "make_lock",
    "pack",
    "plan_admission",
    "plan_chunks",
    "plan_fleet",
    "preprocess_files",
    "preprocess_texts",
    "probe_digest",
    "read_usage",
    "recommend",
    "sweep",
    "tokenize_dataset",
    "train",
    "transcode_dataset",
    "verify_dataset",
]

# Public names of modules that most programs do not need at once.
_LAZY = {
    "PreprocessOptions": "jeton.preprocess",
    "Progress": "jeton.progress",
    "audit": "jeton.auditing",
    "bench": "jeton.benchmarking",
    "chunk": "jeton.chunking.documents",
    "compare": "jeton.comparing",
    "compare_locks": "jeton.locking",
    "continue_training": "jeton.training",
    "convert": "jeton.converting",
    "cost_aware": "jeton.planning.cost_aware",
    "count_pretokens": "jeton.training",
    "diagnose": "jeton.doctor",
    "explain": "jeton.explaining",
    "inspect_texts": "jeton.comparing",
    "ledger": "jeton.economics.ledger.logs",
    "list_vocabularies": "jeton.registry",
    "load": "jeton.registry",
    "make_lock": "jeton.locking",
    "pack": "jeton.planning.packing",
    "plan_admission": "jeton.planning.serving",
    "plan_chunks": "jeton.planning.serving",
    "plan_fleet": "jeton.planning.serving",
    "preprocess_files": "jeton.preprocess",
    "preprocess_texts": "jeton.preprocess",
    "probe_digest": "jeton.probe",
    "read_usage": "jeton.economics.ledger.logs",
    "recommend": "jeton.planning.recommend",
    "sweep": "jeton.planning.sweep",
    "tokenize_dataset": "jeton.datasets",
    "train": "jeton.training",
    "transcode_dataset": "jeton.datasets",
    "verify_dataset": "jeton.datasets",
}

__getattr__, __dir__ = lazy_names(__name__, _LAZY)


def _bounds(  # noqa: D417 - `self` is the method's
    self: Tokenizer,
    text: str | bytes | bytearray | memoryview,
    *,
    add_special_tokens: bool = False,
    allow_special: Iterable[str] | Literal["all"] | None = None,
) -> TokenBounds:
    """Returns the fewest and the most tokens that any text of this length has.

    Takes constant time and is true for every input: ``docs/guides/prediction.md`` has the proof.

    Args:
        text: Text, or its UTF-8. Only its length counts, and if it is ASCII.
        add_special_tokens: True if special tokens around the text count, too.
        allow_special: Special tokens that are found in the text, as for ``encode``.

    Example:
        >>> import jeton
        >>> tok = jeton.load("jeton-general-32k")
        >>> tok.bounds("Hello there")
        TokenBounds(lower_tokens=1, upper_tokens=11)
    """
    from jeton.estimating.bounds import token_bounds

    return token_bounds(
        self, text, add_special_tokens=add_special_tokens, allow_special=allow_special
    )


def _call(  # noqa: D417 - `self` is the method's
    self: Tokenizer,
    texts: str | TextBatch | Iterable[str],
    pairs: str | TextBatch | Iterable[str] | None = None,
    **settings: Any,
) -> ModelInputs:
    """Returns texts as the arrays that a model takes; ``model_inputs`` by a shorter name.

    Args:
        texts: One text, or several; one text is one row.
        pairs: The second text of each.
        settings: Settings of ``model_inputs``: ``padding``, ``truncation``, ``max_length`` ...

    Example:
        >>> import jeton
        >>> tok = jeton.load("jeton-general-32k")
        >>> tok("Hello there").input_ids.tolist() == tok.encode("Hello there")
        True
    """
    first = [texts] if isinstance(texts, str) else texts
    second = [pairs] if isinstance(pairs, str) else pairs
    return self.model_inputs(first, second, **settings)


def _len(self: Tokenizer) -> int:
    """Returns the number of ids, as ``vocab_size`` does.

    Example:
        >>> import jeton
        >>> len(jeton.load("jeton-general-32k"))
        32000
    """
    return self.vocab_size


# The core's class has the methods that encode; these are made of what it has.
for _name, _method in (("bounds", _bounds), ("__call__", _call), ("__len__", _len)):
    _method.__name__, _method.__qualname__ = _name, f"Tokenizer.{_name}"
    setattr(Tokenizer, _name, _method)
del _name, _method
