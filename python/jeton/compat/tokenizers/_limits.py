"""Truncation and padding: their settings, and what they do to encodings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from jeton.compat.tokenizers._arguments import (
    MAX_ID,
    as_kind,
    direction,
    unsigned,
    unsigned_or_none,
)
from jeton.compat.tokenizers.encoding import Encoding
from jeton.errors import EncodeError, UsageError

STRATEGIES: Final = {
    "longest_first": "LongestFirst",
    "only_first": "OnlyFirst",
    "only_second": "OnlySecond",
}


def _titled(name: str) -> str:
    return name.capitalize()


@dataclass(frozen=True, slots=True)
class Truncation:
    """How inputs are cut: lengths in tokens, with those that are put around texts."""

    max_length: int
    stride: int = 0
    strategy: str = "longest_first"
    direction: str = "right"

    @classmethod
    def of_options(cls, max_length: Any, options: dict[str, Any]) -> Truncation:
        """From the arguments of ``enable_truncation``."""
        settings: dict[str, Any] = {"max_length": unsigned(max_length, "max_length")}
        for name, value in options.items():
            if name == "stride":
                settings[name] = unsigned(value, name)
            elif name == "strategy":
                if as_kind(value, str, name) not in STRATEGIES:
                    names = "`longest_first`, `only_first`, or `only_second`"
                    raise ValueError(f"Unknown `strategy`: `{value}`. Use one of {names}")
                settings[name] = value
            elif name == "direction":
                settings[name] = direction(value)
            else:
                hint = "\nhint: the options are stride, strategy, direction"
                raise UsageError(f"enable_truncation has no option {name!r}{hint}")
        return cls(**settings)

    @classmethod
    def of_file(cls, written: dict[str, Any] | None) -> Truncation | None:
        """From what a file has."""
        if written is None:
            return None
        spoken = {value: name for name, value in STRATEGIES.items()}
        return cls(
            written["max_length"],
            written.get("stride", 0),
            spoken[written.get("strategy", "LongestFirst")],
            written.get("direction", "Right").lower(),
        )

    def as_options(self) -> dict[str, Any]:
        """The settings, as ``Tokenizer.truncation`` shows them."""
        return asdict(self)

    def as_file(self) -> dict[str, Any]:
        """The settings, as files have them."""
        return {
            "direction": _titled(self.direction),
            "max_length": self.max_length,
            "strategy": STRATEGIES[self.strategy],
            "stride": self.stride,
        }


@dataclass(frozen=True, slots=True)
class Padding:
    """How inputs are filled up: lengths in tokens."""

    length: int | None = None
    pad_to_multiple_of: int | None = None
    pad_id: int = 0
    pad_token: str = "[PAD]"
    pad_type_id: int = 0
    direction: str = "right"

    @classmethod
    def of_options(cls, options: dict[str, Any]) -> Padding:
        """From the arguments of ``enable_padding``."""
        settings: dict[str, Any] = {}
        for name, value in options.items():
            if name == "direction":
                settings[name] = direction(value)
            elif name in {"pad_id", "pad_type_id"}:
                settings[name] = unsigned(value, name, most=MAX_ID)
            elif name == "pad_token":
                settings[name] = as_kind(value, str, name)
            elif name in {"length", "pad_to_multiple_of"}:
                settings[name] = unsigned_or_none(value, name)
            elif name == "max_length":
                settings["length"] = unsigned_or_none(value, name)
            else:
                hint = (
                    "\nhint: the options are direction, pad_id, pad_type_id, pad_token, length, "
                    "pad_to_multiple_of"
                )
                raise UsageError(f"enable_padding has no option {name!r}{hint}")
        return cls(**settings)

    @classmethod
    def of_file(cls, written: dict[str, Any] | None) -> Padding | None:
        """From what a file has."""
        if written is None:
            return None
        strategy = written["strategy"]
        return cls(
            strategy["Fixed"] if isinstance(strategy, dict) else None,
            written.get("pad_to_multiple_of"),
            written["pad_id"],
            written["pad_token"],
            written["pad_type_id"],
            written["direction"].lower(),
        )

    def as_options(self) -> dict[str, Any]:
        """The settings, as ``Tokenizer.padding`` shows them."""
        return asdict(self)

    def as_file(self) -> dict[str, Any]:
        """The settings, as files have them."""
        return {
            "strategy": "BatchLongest" if self.length is None else {"Fixed": self.length},
            "direction": _titled(self.direction),
            "pad_to_multiple_of": self.pad_to_multiple_of,
            "pad_id": self.pad_id,
            "pad_type_id": self.pad_type_id,
            "pad_token": self.pad_token,
        }


def padded_length(padding: Padding, longest: int) -> int:
    """The length that encodings have when the longest has ``longest`` tokens."""
    length = longest if padding.length is None else padding.length
    multiple = padding.pad_to_multiple_of
    return -(-length // multiple) * multiple if multiple else length


def pad_batch(encodings: Sequence[Encoding], padding: Padding | None) -> None:
    """Fill all up to one length, in place."""
    if padding is None or not encodings:
        return
    length = padded_length(padding, max(len(encoding) for encoding in encodings))
    for encoding in encodings:
        encoding._pad(
            length,
            pad_id=padding.pad_id,
            pad_type_id=padding.pad_type_id,
            pad_token=padding.pad_token,
            left=padding.direction == "left",
        )


def truncate_pair(
    first: Encoding, second: Encoding | None, how: Truncation, max_length: int
) -> None:
    """Cut one encoding or two, in place, so that they have ``max_length`` tokens together."""
    left = how.direction == "left"

    def cut(encoding: Encoding, length: int) -> None:
        encoding._truncate(length, how.stride, left=left)

    if max_length == 0:
        cut(first, 0)
        if second is not None:
            cut(second, 0)
        return
    total = len(first) + (0 if second is None else len(second))
    surplus = total - max_length
    if surplus <= 0:
        return
    if how.strategy == "longest_first":
        if second is None:
            cut(first, max_length)
            return
        n_first, n_second = shared_out(len(first), len(second), max_length)
        cut(first, n_first)
        cut(second, n_second)
        return
    target = first if how.strategy == "only_first" else second
    if target is None:
        raise EncodeError(
            "only the second text may be truncated, and there is none\n"
            "hint: strategy longest_first or only_first"
        )
    if len(target) <= surplus:
        raise EncodeError(
            f"the text to truncate has {len(target)} tokens, and {surplus} are too many\n"
            "hint: a larger max_length, or the strategy longest_first"
        )
    cut(target, len(target) - surplus)


def shared_out(n_first: int, n_second: int, max_length: int) -> tuple[int, int]:
    """How many tokens two texts keep when the longer one gives way first."""
    shorter, longer = sorted((n_first, n_second))
    longer = shorter if shorter > max_length else max(shorter, max_length - shorter)
    if shorter + longer > max_length:
        shorter = max_length // 2
        longer = shorter + max_length % 2
    return (longer, shorter) if n_first > n_second else (shorter, longer)
