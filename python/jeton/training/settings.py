"""Settings of training: hyper-parameters, checked in one place.

A setting of several algorithms is a field of ``TrainSettings``; a setting of one is one of its
``options``. The settings are kept as they were given, since the training card has to tell them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, cast

from jeton._core import published_patterns
from jeton._nearest import nearest
from jeton.errors import UsageError
from jeton.pretokenizing.indentation import DEDENT_TOKEN, INDENT_TOKEN
from jeton.pretokenizing.rules import RULES, check_normalizers, check_rules, in_order
from jeton.pretokenizing.segmenters import Segmenter, segmenter_name
from jeton.training.algorithms import ALGORITHMS, find_algorithm
from jeton.training.algorithms.base import Algorithm, check_at_least

__all__ = [
    "ALGORITHMS",
    "DEFAULT_PATTERN",
    "DEFAULT_SPECIAL_TOKENS",
    "DEFAULT_VOCAB_SIZE",
    "TrainSettings",
]

DEFAULT_MIN_FREQUENCY = 1
"""Pairs that occur less often are not merged: 1 leaves none out."""

DEFAULT_VOCAB_SIZE = 32_000
"""The size of Llama 1, Llama 2 and Mistral 7B: common ground to start from. The best size depends
on the text and the model; only a comparison of sizes can tell."""

DEFAULT_PATTERN = "llama3"
"""Cuts as ``cl100k_base`` does (words with the space before them, numbers in groups of at most
three digits, contractions in any case), but is written without possessive repetition: Oniguruma,
which reads a saved ``tokenizer.json`` in other libraries, takes ``{1,3}+`` for a repeated group, so
that ``cl100k_base`` as published would not cut long numbers there."""

DEFAULT_SPECIAL_TOKENS = ("<|endoftext|>",)
"""One token that stands between documents, under the name that GPT-2 and its successors use."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""Pattern of a mistyped name, which no useful split pattern looks like."""

_OWN: Any = None
"""Stands for the special tokens of the algorithm until its name is known."""

_SHARED_BY_SOME = (
    "pattern",
    "rules",
    "segmenter",
    "indents",
    "normalizer",
    "min_frequency",
    "max_token_bytes",
    "tie_rule",
)
"""Shared settings that some algorithms do not take."""

_TOLD_IF_GIVEN = ("rules", "segmenter", "indents")
"""Settings that a training card tells of only where they were given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """Hyper-parameters of training.

    Attributes:
        algorithm: One of ``ALGORITHMS``.
        vocab_size: Tokens wanted, special tokens (and the 256 bytes, if there are some) included.
        min_frequency: Least occurrences of a token.
        pattern: Split pattern: the name of a published one, ``"code"``, or a regular expression.
        rules: Names from ``jeton.pretokenizing.RULES``: what is cut out before the pattern cuts.
        segmenter: Cuts pretokens further before they count: a name as
            ``jeton.pretokenizing.segmenters`` has it, or a function from a pretoken to its parts.
        indents: Learn from source whose indentation became tokens; the two tokens come behind the
            special tokens. For ``jeton.pretokenizing.IndentationTokenizer``.
        normalizer: Names from ``jeton.pretokenizing.NORMALIZERS``, one or several: what is done to
            text before it is cut, in training and in use, such as ``"nfc"``.
        special_tokens: Take the ids 0, 1 ... in this order. None: the algorithm's own, which are
            here after construction.
        max_token_bytes: Longest token that is made; None: any.
        tie_rule: Rule for two pairs with equal counts. ``"hf"`` merges the one with the lower ids
            first, as the ``tokenizers`` library does. ``"bytes"`` merges the one whose bytes come
            first. ``"sentencepiece"`` merges the one with fewer characters, then whose bytes come
            first.
        seed: Reserved for algorithms that sample; those there are do not, their result depends on
            text and settings only.
        options: Options of this algorithm alone, by name.
    """

    algorithm: str = "bpe"
    vocab_size: int = DEFAULT_VOCAB_SIZE
    min_frequency: int = DEFAULT_MIN_FREQUENCY
    pattern: str = DEFAULT_PATTERN
    rules: Sequence[str] = ()
    segmenter: str | Segmenter | None = None
    indents: bool = False
    normalizer: str | Sequence[str] | None = None
    special_tokens: Sequence[str] = _OWN
    max_token_bytes: int | None = None
    tie_rule: Literal["hf", "bytes", "sentencepiece"] = "hf"
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if cast("Any", self.special_tokens) is None:
            known = self.algorithm in ALGORITHMS
            own = find_algorithm(self.algorithm).special_tokens if known else DEFAULT_SPECIAL_TOKENS
            object.__setattr__(self, "special_tokens", own)
        if self.indents and not isinstance(self.special_tokens, str):
            missing = [t for t in (INDENT_TOKEN, DEDENT_TOKEN) if t not in self.special_tokens]
            object.__setattr__(self, "special_tokens", (*self.special_tokens, *missing))
        object.__setattr__(self, "normalizer", in_order(self.normalizer))
        if not isinstance(self.rules, str):
            # One value, whatever order they were given in; what is no rule is found by check().
            place = {rule: place for place, rule in enumerate(RULES)}
            ordered = sorted(self.rules, key=lambda rule: place.get(rule, len(place)))
            object.__setattr__(self, "rules", tuple(ordered))

    @property
    def method(self) -> Algorithm:
        """The algorithm itself.

        Raises:
            UsageError: There is none of this name.
        """
        return find_algorithm(self.algorithm)

    def read_options(self) -> Any:
        """The algorithm's own options, as an object of its class.

        Raises:
            UsageError: An option that the algorithm does not have.
        """
        return self.method.read_options(self.options)

    def check(self) -> None:
        """Raise ``UsageError`` for what cannot be meant; the core checks what depends on it."""
        method = self.method
        for shared in fields(self):
            if shared.name in _SHARED_BY_SOME and shared.name not in method.takes:
                value = getattr(self, shared.name)
                if value != shared.default and value != ():
                    hint = ""
                    known = {option.name for option in fields(method.options)}
                    if shared.name == "normalizer" and "normalization_rule_name" in known:
                        hint = (
                            "\nhint: its rules have names of their own: "
                            "normalization_rule_name='nfkc' (-O normalization_rule_name=nfkc)"
                        )
                    elif shared.name == "normalizer" and "lowercase" in known:
                        hint = (
                            "\nhint: it normalizes as BERT does, by options of its own: lowercase, "
                            "strip_accents (-O lowercase=true)"
                        )
                    elif shared.name == "pattern":
                        hint = "\nhint: it cuts text in a way of its own; leave the pattern out"
                    raise UsageError(
                        f"{shared.name} is {value!r}, but algorithm {self.algorithm!r} does not "
                        f"take it{hint}"
                    )
        if self.tie_rule not in ("hf", "bytes", "sentencepiece"):
            raise UsageError(
                f"unknown tie rule {self.tie_rule!r}; expected 'hf', 'bytes' or 'sentencepiece'"
            )
        if isinstance(self.special_tokens, str):
            raise UsageError(
                f"special_tokens is the string {self.special_tokens!r}; expected a list of them\n"
                f"hint: special_tokens=[{self.special_tokens!r}]"
            )
        check_at_least("vocab_size", self.vocab_size, 1)
        check_at_least("min_frequency", self.min_frequency, 1)
        if self.max_token_bytes is not None:
            check_at_least("max_token_bytes", self.max_token_bytes, 1)
        published = published_patterns()
        if self.pattern not in published and _PLAIN_NAME.fullmatch(self.pattern):
            offered = nearest(self.pattern, published) or tuple(sorted(published))
            raise UsageError(
                f"unknown split pattern {self.pattern!r}; the nearest are {', '.join(offered)}\n"
                "hint: give the name of a published pattern or a regular expression"
            )
        check_normalizers(self.normalizer)
        check_rules(self.rules)
        self.read_options().check(self)

    def to_card(self) -> dict[str, Any]:
        """As plain JSON values: what this algorithm takes, and all of it, defaults too.

        A card has to be enough to make the tokenizer again when defaults have changed.
        """
        method = self.method
        values = self.to_dict()
        for name in _SHARED_BY_SOME:
            if name not in method.takes:
                values.pop(name, None)
        own = self.read_options()
        options = {
            part.name: list(value) if isinstance(value, tuple) else value
            for part in fields(own)
            for value in [getattr(own, part.name)]
        }
        resolved = getattr(own, "size_at_transition", None)
        if resolved is not None:
            options["transition_size"] = resolved(self)
        return {**values, "options": options} if options else values

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; ``options`` and what is new only where some were given."""
        values = {shared.name: getattr(self, shared.name) for shared in fields(self)}
        for name in _TOLD_IF_GIVEN:
            if not values[name]:
                del values[name]
        if "rules" in values:
            values["rules"] = list(self.rules)
        if isinstance(self.normalizer, tuple):
            values["normalizer"] = list(self.normalizer)
        if self.segmenter is not None:
            values["segmenter"] = segmenter_name(self.segmenter)
        values["special_tokens"] = list(self.special_tokens)
        options = values.pop("options")
        return {**values, "options": dict(options)} if options else values
