"""Tokens that are spelled alike, of which text can become one."""

from __future__ import annotations

import re

import numpy as np

from jeton._core import Tokenizer

_RAW_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")


def shadowed_bytes(tokenizer: Tokenizer) -> frozenset[int]:
    """Returns ids of raw bytes (``<0x21>``) that have a token of their own besides (``!``).

    Text becomes a raw byte only where no other token has it, so it never becomes these.
    """
    return frozenset(
        id
        for id in np.flatnonzero(tokenizer.is_token_mask()).tolist()
        if _RAW_BYTE.fullmatch(tokenizer.id_to_token(id) or "")
        and tokenizer.bytes_to_id(tokenizer.id_to_bytes(id)) not in (None, id)
    )
