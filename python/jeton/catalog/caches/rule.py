"""Shape of a provider's rules: one row for each model family and date."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class CacheRule:
    """The rules of one provider's prompt cache.

    Attributes:
        name: Whose rules.
        min_tokens: Shorter prefixes are not cached.
        step_tokens: Cached lengths are multiples of this.
        write_factor: Cost of writing a token, in uncached input tokens; 1: no surcharge.
        ttl_seconds: Life of a prefix after its last use; of a published range the lower end.
        max_break_points: Break points of a request that the caller sets; 0: the provider finds
            shared prefixes by itself.
        source: Where the rules are published, with the day they were read.
        lifetime: The caller's request for this lifetime; empty: nothing is asked.
        look_back_blocks: Blocks before a break point in which a written prefix is looked for;
            0: no limit.
        longest_seconds: Upper end of a published range of lives; 0: there is no range.
        first_token_seconds: Time from a request until others can read what it writes.
        needs_equal_parameters: True if other parameters (tools' choice, reasoning) end a prefix.
    """

    name: str
    min_tokens: int
    step_tokens: int
    write_factor: float
    ttl_seconds: float
    max_break_points: int
    source: str

    lifetime: str = ""
    look_back_blocks: int = 0
    longest_seconds: float = 0.0
    first_token_seconds: float = 1.0
    needs_equal_parameters: bool = False

    @property
    def is_automatic(self) -> bool:
        """True if nothing has to be done for it but to keep beginnings equal."""
        return self.max_break_points == 0


@dataclass(frozen=True, slots=True)
class RuleRow:
    """Rules of a family of models, valid from a day on.

    Attributes:
        models: Pattern that is searched for in a model's name, in small letters; empty: any.
        choices: Rules among which a caller may choose, the usual lifetime first.
        since: First day on which they hold; None: from the beginning.
    """

    models: str
    choices: tuple[CacheRule, ...]
    since: date | None = None

    def holds(self, model: str, on: date | None) -> bool:
        """True if the rules are those of a model on a day; None: today."""
        if on is not None and self.since is not None and on < self.since:
            return False
        return re.search(self.models, model) is not None


@dataclass(frozen=True, slots=True)
class CacheProvider:
    """A provider's rows; the first one that holds counts.

    Attributes:
        is_it: Tells by a provider's id and a model's name (small letters).
        rows: The rows, the particular ones first.
    """

    is_it: Callable[[str, str], bool]
    rows: tuple[RuleRow, ...]
