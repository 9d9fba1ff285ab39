"""Every exception and warning that Jeton raises.

The tree::

    JetonError(Exception)
      VocabularyError(ValueError)          a tokenizer or a file of one is unusable
        FormatError                        .path .format .line .offset
          LossyConversionError             .losses
        PatternError                       .pattern .offset
      EncodeError(ValueError)              text could not be encoded
        UnknownSpecialTokenError           .token
        InvalidTextError                   .byte_offset
        PatternCostError                   .byte_offset
      DecodeError(ValueError)
        UnknownTokenIdError(KeyError)      .id .vocab_size
      CorpusError(ValueError)              documents could not be read
        RecordError                        .path .line
        EmptyCorpusError
        LimitError                         .what .limit
      ClusterError(RuntimeError)           a cluster cannot or could not do the work
      TrainingError(ValueError)
      AdaptError(ValueError)
      CatalogError(LookupError)            .name .kind .nearest
        UnknownTokenizerError | UnknownModelError | UnknownGpuError | UnknownPriceError |
        UnknownNumberFormatError
      ModelConfigError(ValueError)         .field      a config.json without what memory needs
      TemplateError(ValueError)            .reason .line          a chat template failed
        TemplateLimitError                 .limit
      GuardRejected(ValueError)            .verdict            a policy refuses a text
      MissingExtraError(ImportError)       .extra
      UsageError(ValueError)               arguments that contradict one another
    JetonWarning(UserWarning)
      ApproximationWarning
      EndlessInputWarning
      LossyConversionWarning
      StalePriceWarning

Errors of the operating system stay the built-in classes (``FileNotFoundError``,
``PermissionError``, ``OSError``). The Rust core maps its closed list of error kinds
onto these classes in one exhaustive match (``crates/jeton-py/src/error.rs``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

__all__ = [
    "AdaptError",
    "ApproximationWarning",
    "CatalogError",
    "ClusterError",
    "CorpusError",
    "DecodeError",
    "EmptyCorpusError",
    "EncodeError",
    "EndlessInputWarning",
    "FormatError",
    "GuardRejected",
    "InvalidTextError",
    "JetonError",
    "JetonWarning",
    "LimitError",
    "LossyConversionError",
    "LossyConversionWarning",
    "MissingExtraError",
    "ModelConfigError",
    "PatternCostError",
    "PatternError",
    "RecordError",
    "StalePriceWarning",
    "TemplateError",
    "TemplateLimitError",
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
]


_MAX_QUOTED = 200
_LONG_QUOTE = re.compile(r"""(?P<mark>["'`])(?P<start>[^"'`\n]{200})[^"'`\n]+(?P=mark)""")
_MAX_MESSAGE = 20_000


def _shortened(quote: re.Match[str]) -> str:
    return f"{quote['mark']}{quote['start']}\u2026{quote['mark']}"


class JetonError(Exception):
    """Base of every error that Jeton raises on its own account.

    A message quotes 200 characters of a value at most: files of others hold values of any length.
    """

    def __init__(self, *arguments: Any) -> None:
        if arguments and isinstance(arguments[0], str) and len(arguments[0]) > _MAX_QUOTED:
            message, mark, hint = arguments[0].partition("\nhint:")
            message = _LONG_QUOTE.sub(_shortened, message) + mark + hint
            if len(message) > _MAX_MESSAGE:
                message = f"{message[:_MAX_MESSAGE]}\u2026"
            arguments = (message, *arguments[1:])
        super().__init__(*arguments)

    exit_code: ClassVar[int] = 2
    """Exit code of a command that ends with it: 2, or 1 where it is a finding."""


class VocabularyError(JetonError, ValueError):
    """A tokenizer, or the file of one, cannot be used."""


class FormatError(VocabularyError):
    """A file does not have the format that it should have."""

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        format: str | None = None,  # noqa: A002 - the field's name in the documentation
        line: int | None = None,
        offset: int | None = None,
    ) -> None:
        super().__init__(message)
        self.path = path
        self.format = format
        self.line = line
        self.offset = offset


class LossyConversionError(FormatError):
    """A format does not hold everything that a tokenizer is, and nobody said that this is fine.

    Attributes:
        losses: Losses, each with ``component``, ``what`` and ``effect``.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        format: str | None = None,  # noqa: A002 - the field's name in the documentation
        losses: Sequence[Any] = (),
    ) -> None:
        super().__init__(message, path=path, format=format)
        # ``jeton.formats.Loss``, which lives above this module.
        self.losses: tuple[Any, ...] = tuple(losses)


class PatternError(VocabularyError):
    """A split pattern cannot be parsed or compiled."""

    def __init__(
        self, message: str, *, pattern: str | None = None, offset: int | None = None
    ) -> None:
        super().__init__(message)
        self.pattern = pattern
        self.offset = offset


class EncodeError(JetonError, ValueError):
    """A text could not be encoded."""


class UnknownSpecialTokenError(EncodeError):
    """``allow_special`` names a token that the tokenizer does not have."""

    def __init__(self, message: str, *, token: str | None = None) -> None:
        super().__init__(message)
        self.token = token


class InvalidTextError(EncodeError):
    """A text is not valid Unicode: bytes that are not UTF-8, or a lone surrogate."""

    def __init__(self, message: str, *, byte_offset: int | None = None) -> None:
        super().__init__(message)
        self.byte_offset = byte_offset


class PatternCostError(EncodeError):
    """A split pattern that needs backtracking gave up on a text."""

    def __init__(self, message: str, *, byte_offset: int | None = None) -> None:
        super().__init__(message)
        self.byte_offset = byte_offset


class DecodeError(JetonError, ValueError):
    """Ids could not be decoded."""


class UnknownTokenIdError(DecodeError, KeyError):
    """An id is not in the vocabulary."""

    def __init__(
        self,
        message: str,
        *,
        id: int | None = None,  # noqa: A002 - the field's name in the documentation
        vocab_size: int | None = None,
    ) -> None:
        super().__init__(message)
        self.id = id
        self.vocab_size = vocab_size

    # KeyError would show the message in quotation marks.
    __str__ = Exception.__str__


class CorpusError(JetonError, ValueError):
    """Documents could not be read."""


class RecordError(CorpusError):
    """A record of a JSONL or Parquet file is unusable."""

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


class EmptyCorpusError(CorpusError):
    """The inputs hold no text at all."""


class LimitError(CorpusError):
    """An input is larger than a limit that guards against hostile files."""

    def __init__(self, message: str, *, what: str | None = None, limit: int | None = None) -> None:
        super().__init__(message)
        self.what = what
        self.limit = limit


class ClusterError(JetonError, RuntimeError):
    """A cluster cannot do the work, or its processes died again and again."""


class TrainingError(JetonError, ValueError):
    """A tokenizer cannot be trained as asked."""


class AdaptError(JetonError, ValueError):
    """A vocabulary, or a model that has it, cannot be changed as asked."""


class CatalogError(JetonError, LookupError):
    """A name is not known; the nearest known names are offered.

    Subclasses set ``kind``. The message is built here so that every unknown name
    reads alike: what was asked, the nearest names, how to list them all.
    """

    kind = "name"
    how_to_list = ""

    def __init__(self, name: str, *, nearest: Sequence[str] = (), hint: str = "") -> None:
        message = f"unknown {self.kind} {name!r}"
        if nearest:
            message += f"; the nearest are {', '.join(nearest)}"
        hint = hint or self.how_to_list
        if hint:
            message += f"\nhint: {hint}"
        super().__init__(message)
        self.name = name
        self.nearest = tuple(nearest)


class UnknownTokenizerError(CatalogError):
    """No tokenizer of this name, and no file at this path."""

    kind = "tokenizer"
    how_to_list = "`jeton vocab list` shows the known names; a path to a file works too"


class UnknownModelError(CatalogError):
    """No model of this name in the catalog."""

    kind = "model"
    how_to_list = "`jeton catalog models` shows the known names"


class UnknownGpuError(CatalogError):
    """No GPU of this name in the catalog."""

    kind = "GPU"
    how_to_list = "`jeton catalog gpus` shows the known names"


class UnknownNumberFormatError(CatalogError):
    """No format of numbers of this name (``fp8``, ``int4``, ``mxfp4`` ...)."""

    kind = "number format"
    how_to_list = "`jeton catalog formats` shows the known names"


class ModelConfigError(JetonError, ValueError):
    """A model's config.json lacks what its memory depends on, or has what is not known here."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class UnknownPriceError(CatalogError):
    """No price for this model: an unknown price is an error, never zero."""

    kind = "price model"
    how_to_list = "`jeton catalog prices` shows the known names; PROVIDER:MODEL picks one provider"


class GuardRejected(JetonError, ValueError):
    """A policy of the guard refuses a text.

    Attributes:
        verdict: The findings for which it is refused: a ``jeton.guard.Verdict``.
        document: Number of the text among those that were given, from 1; None: it was the only one.
    """

    def __init__(self, message: str, *, verdict: Any = None, document: int | None = None) -> None:
        super().__init__(message)
        self.verdict = verdict
        self.document = document


class MissingExtraError(JetonError, ImportError):
    """An optional dependency is needed and not installed."""

    def __init__(self, feature: str, *, extra: str) -> None:
        super().__init__(
            f"{feature} needs the optional dependencies of jeton[{extra}]\n"
            f"hint: pip install 'jeton[{extra}]'"
        )
        self.extra = extra


class TemplateError(JetonError, ValueError):
    """A chat template cannot be read, failed, or refused the messages.

    ``reason`` is one of: ``syntax``; ``undefined`` (it needs something that is not there);
    ``refused`` (it called ``raise_exception``); ``security`` (it reached outside the sandbox);
    ``failed``; ``crashed`` (the process that rendered it died); of a ``TemplateLimitError``, what
    ran out. ``line`` is a line of the template. ``kind`` names the class of Jinja's or Python's own
    error (``UndefinedError``), and ``said`` is what that error said; both are empty where there was
    none.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str = "failed",
        line: int | None = None,
        kind: str = "",
        said: str = "",
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.line = line
        self.kind = kind
        self.said = said


class TemplateLimitError(TemplateError):
    """A chat template was stopped: it took too much of something.

    ``reason`` is what: ``time``, ``memory``, ``output``, ``recursion`` or ``size`` (of a number or
    a range); ``limit`` is how much of it there was.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str = "time",
        limit: str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(message, reason=reason, line=line)
        self.limit = limit


class UsageError(JetonError, ValueError):
    """Arguments are out of range or contradict one another."""


class JetonWarning(UserWarning):
    """Base of every warning that Jeton gives."""


class ApproximationWarning(JetonWarning):
    """A result is approximate where the caller may expect an exact one."""


class EndlessInputWarning(JetonWarning):
    """An input that is no file with a known end is still being read."""


class LossyConversionWarning(JetonWarning):
    """A tokenizer was written in a format that does not hold everything, as was asked for."""


class StalePriceWarning(JetonWarning):
    """A price is old enough that it should be checked."""
