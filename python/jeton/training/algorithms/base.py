"""Description that an algorithm gives ``train`` of itself, and the checks that all share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

from jeton._core import PretokenCounts, Tokenizer
from jeton._nearest import nearest
from jeton.errors import UsageError
from jeton.pretokenizing.rules import normalizer_steps, pretokenizer_steps
from jeton.progress import OnProgress, Progress

if TYPE_CHECKING:
    from jeton.training.counted import LanguageCounts
    from jeton.training.languages import LanguageSource
    from jeton.training.settings import TrainSettings


class Options(Protocol):
    """Options of one algorithm: a frozen dataclass whose fields are plain JSON values."""

    def check(self, settings: TrainSettings) -> None:
        """Raise ``UsageError`` for what cannot be meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOptions:
    """An algorithm that has no options of its own."""

    def check(self, settings: TrainSettings) -> None:
        """Nothing can be wrong."""


@dataclass(frozen=True, slots=True)
class Learning:
    """Context of learning besides counts and settings.

    Attributes:
        name: Name of the tokenizer.
        on_progress: Told now and then how far learning is; may be None.
        num_threads: Threads that learn; None: all there are. Never changes the result.
        languages: The counts by language, for an algorithm that asks for them.
        facts: The algorithm's notes on its work, for the training card: it puts plain JSON values
            here.
        merges: Merges of a run that was interrupted, to go on from; for algorithms that can.
        on_interrupt: Told the merges so far where Ctrl-C ends learning, by algorithms that can go
            on from them; may be None.
    """

    name: str | None = None
    on_progress: OnProgress | None = None
    num_threads: int | None = None
    languages: tuple[LanguageCounts, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    merges: Sequence[tuple[int, int]] = ()
    on_interrupt: Callable[[list[tuple[int, int]]], None] | None = None

    def report(self, stage: str) -> Callable[[int, int], None]:
        """Return the callback that the core calls with (done, total) tokens."""

        def tell(done: int, total: int) -> None:
            if self.on_progress is not None:
                self.on_progress(Progress(stage, done, total, "tokens"))  # type: ignore[arg-type]

        return tell


def _no_languages(settings: TrainSettings) -> LanguageSource | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """One way to choose tokens.

    Attributes:
        name: Name in ``train`` and on the command line.
        summary: The algorithm in a few words.
        takes: Which of the shared settings mean something to it; giving another one is an error.
        special_tokens: Its special tokens unless others are given.
        options: Class of its own options, a frozen dataclass with defaults.
        new_counts: Empty counts that cut text the way it needs.
        learn: Counts to a tokenizer.
        languages: The source of a document's language; None where that does not matter.
    """

    name: str
    summary: str
    takes: frozenset[str]
    special_tokens: tuple[str, ...]
    options: type[Any]
    new_counts: Callable[[TrainSettings], PretokenCounts]
    learn: Callable[[PretokenCounts, TrainSettings, Learning], Tokenizer]
    languages: Callable[[TrainSettings], LanguageSource | None] = _no_languages

    def read_options(self, given: Mapping[str, Any]) -> Any:
        """Its options, as given and else by default.

        Raises:
            UsageError: An option that it does not have, or one without which it cannot be.
        """
        known = [option.name for option in fields(self.options)]
        for name in given:
            if name not in known:
                offered = nearest(name, known) or tuple(known)
                expected = f"expected {', '.join(offered)}" if known else "it has none"
                raise UsageError(f"algorithm {self.name!r} has no option {name!r}; {expected}")
        for option in fields(self.options):
            required = option.default is MISSING and option.default_factory is MISSING
            if required and option.name not in given:
                raise UsageError(f"algorithm {self.name!r} needs the option {option.name!r}")
        # JSON has lists where options have tuples.
        values = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        return self.options(**values)


def pattern_counts(settings: TrainSettings, *, pattern: str | None = None) -> PretokenCounts:
    """Empty counts that cut text by the pattern, the rules and the normalizers of settings.

    Args:
        settings: Settings that say so.
        pattern: Another pattern instead of theirs.
    """
    chosen = settings.pattern if pattern is None else pattern
    plain = PretokenCounts(pattern=chosen)
    if not settings.rules and settings.normalizer is None:
        return plain
    cutting = json.loads(plain.cutting)
    if settings.rules:
        cutting["pretokenizer"] = pretokenizer_steps(chosen, settings.rules)
    cutting["normalizer"] = normalizer_steps(settings.normalizer)
    return PretokenCounts.cut_by(json.dumps(cutting))


def check_at_least(name: str, value: float, least: float) -> None:
    """Raise ``UsageError`` for a number that is too small, or no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{name} is {value!r}; expected a number")
    if not value >= least:
        raise UsageError(f"{name} is {value}; it should be at least {least}")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise ``UsageError`` for a value that is none of those there are."""
    if value not in choices:
        raise UsageError(f"{name} is {value!r}; expected one of {', '.join(choices)}")
