"""Tokens around a text: whether a tokenizer's file says which they are."""

from __future__ import annotations

from jeton._core import Tokenizer
from jeton.findings import Basis

_STARTS = (
    "<|begin_of_text|>",
    "<|startoftext|>",
    "<bos>",
    "<s>",
    "[CLS]",
    "<\uff5cbegin\u2581of\u2581sentence\uff5c>",
)
"""Special tokens that models of today put in front of a text."""


def basis_of_frame(tokenizer: Tokenizer, *, is_asked: bool) -> Basis:
    """Return the basis of ids that were asked for with the tokens around a text.

    A file of ranks has no rule for them. Where its vocabulary has a token for the start of a text,
    the original most likely writes it, and the ids are an estimate.

    Args:
        tokenizer: The tokenizer.
        is_asked: True if tokens around the text were asked for.

    Example:
        >>> import jeton
        >>> basis_of_frame(jeton.load("jeton-general-32k"), is_asked=True).value
        'exact'
    """
    has_rule = tokenizer.reference != "tiktoken" or bool(
        tokenizer.encode("", add_special_tokens=True)
    )
    if not is_asked or has_rule or not any(name in tokenizer.special_tokens for name in _STARTS):
        return Basis.EXACT
    return Basis.ESTIMATED
