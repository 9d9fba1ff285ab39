"""A tokenizer of one's own for a model that has another one.

Rows of tokens that both have are kept; each other row is made of the old tokens of its text. How
numbers are cut is what a model cannot relearn from so little: exchanging a tokenizer that cuts
digits by another rule took 74 to 79% off GSM8K, 5.6% with the same rule (arXiv:2506.06607).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from jeton._core import Tokenizer
from jeton.adapt.change import VocabularyChange
from jeton.adapt.deriving import change_between
from jeton.errors import AdaptError
from jeton.registry import TokenizerLike, resolve

_N_NUMBERS = 200
_MAX_DIGITS = 13
_WHOLE = "whole numbers"
_RULES: dict[str, Callable[[int], list[int]]] = {
    "each digit by itself": lambda n: [1] * n,
    "threes from the left": lambda n: [3] * (n // 3) + ([n % 3] if n % 3 else []),
    "threes from the right": lambda n: ([n % 3] if n % 3 else []) + [3] * (n // 3),
    "pairs from the left": lambda n: [2] * (n // 2) + [1] * (n % 2),
    _WHOLE: lambda n: [n],
}
_MERGED = "as merges have it"


@dataclass(frozen=True, slots=True)
class Replacement:
    """Two tokenizers, and the change from the one to the other.

    Attributes:
        change: The change of vocabulary.
        n_kept: Tokens that both have.
        n_added: Tokens whose rows are made of old ones.
        n_without_parts: Added tokens that no old token stands for.
        old_digits: How the old tokenizer cuts numbers.
        new_digits: How the new one does.
    """

    change: VocabularyChange
    n_kept: int
    n_added: int
    n_without_parts: int
    old_digits: str
    new_digits: str


def replacement(old: TokenizerLike, new: TokenizerLike, *, force: bool = False) -> Replacement:
    """Returns the change that exchanges a tokenizer for another one.

    Args:
        old: The model's tokenizer: a name, a path or an object.
        new: The one that it is to get, given in the same ways.
        force: Go on if numbers are cut by other rules.

    Raises:
        AdaptError: Numbers are cut by other rules; or several tokens have the same bytes.
    """
    old, new = resolve(old, argument="old"), resolve(new, argument="new")
    old_digits, new_digits = digit_rule(old), digit_rule(new)
    if old_digits != new_digits and not force:
        raise AdaptError(
            f"the model's tokenizer cuts numbers into {old_digits}, the new one into {new_digits}: "
            "models lose most of their arithmetic by that (arXiv:2506.06607)\n"
            "hint: train the new one with the same rule for digits, or go on with --force"
        )
    change = change_between(old, new)
    sizes = change.offsets[1:] - change.offsets[:-1]
    holes = set(change.holes.tolist())
    return Replacement(
        change=change,
        n_kept=sum(id not in holes for id in change.kept.tolist()),
        n_added=len(change.added),
        n_without_parts=int((sizes == 0).sum()),
        old_digits=old_digits,
        new_digits=new_digits,
    )


def digit_rule(tokenizer: Tokenizer) -> str:
    """Returns how numbers are cut, in words; numbers of up to 13 digits are tried.

    Example:
        >>> import jeton
        >>> digit_rule(jeton.load("jeton-general-32k"))
        'threes from the left'
    """
    by_pretoken = _rule(lambda number: _digits_by_pretoken(tokenizer, number))
    if by_pretoken not in (_WHOLE, _MERGED):
        return by_pretoken
    # Nothing cuts numbers before the model does: its tokens decide.
    return _rule(lambda number: _digits_by_token(tokenizer, number))


def _rule(sizes_of: Callable[[str], list[int]]) -> str:
    drawn = random.Random(0)
    left = set(_RULES)
    for trial in range(_N_NUMBERS):
        n = 1 + trial % _MAX_DIGITS
        sizes = sizes_of("".join(drawn.choices("0123456789", k=n)))
        left = {name for name in left if _RULES[name](n) == sizes}
    return left.pop() if len(left) == 1 else _MERGED


def _digits_by_pretoken(tokenizer: Tokenizer, number: str) -> list[int]:
    cut = tokenizer.pretokenize(f"a {number}")
    sizes = [sum(char.isdecimal() for char in pretoken) for pretoken in cut]
    return [size for size in sizes if size]


def _digits_by_token(tokenizer: Tokenizer, number: str) -> list[int]:
    # Behind a letter, where no space is put in front, and no space is part of it.
    found = tokenizer.encode_with_offsets(f"a {number}")
    sizes = [
        end - max(start, 2)
        for start, end in zip(found.starts.tolist(), found.ends.tolist(), strict=True)
    ]
    return [size for size in sizes if size > 0]
