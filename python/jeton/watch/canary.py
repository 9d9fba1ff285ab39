"""The canary: fixed texts sent down the live path, whose ids must never change.

Traffic that changes moves no canary. So a canary that moved is a change of the preprocessing or of
the tokenizer, with certainty and at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from jeton.errors import EncodeError, FormatError
from jeton.probe import PROBE_VERSION, probe_texts


@dataclass(frozen=True, slots=True)
class CanaryReading:
    """One pass of the canary.

    Attributes:
        texts: Digest of the texts behind the preprocessing.
        ids: Digest of their ids.
        n_tokens: Tokens of all texts.
    """

    texts: str
    ids: str
    n_tokens: int

    def cause_since(self, before: CanaryReading) -> str:
        """Return the drift cause that parts two readings; empty where they agree."""
        if self.texts != before.texts:
            return "preprocessing"
        return "tokenizer" if self.ids != before.ids else ""

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Any) -> CanaryReading | None:
        """From JSON values; None from None.

        Raises:
            FormatError: They are no reading.
        """
        if plain is None:
            return None
        try:
            return cls(str(plain["texts"]), str(plain["ids"]), int(plain["n_tokens"]))
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"the canary of the history is damaged: {error!r}") from None


def read_canary(
    encode: Callable[[str], Sequence[int]], preprocess: Callable[[str], str] | None = None
) -> CanaryReading:
    """Send the probe texts down the live path.

    Args:
        encode: From a text to its ids.
        preprocess: The step before; None: none.

    Example:
        >>> import jeton
        >>> encode = jeton.load("jeton-general-32k").encode
        >>> read_canary(encode, str.upper).cause_since(read_canary(encode))
        'preprocessing'
    """
    texts, ids, n_tokens = hashlib.sha256(), hashlib.sha256(), 0
    for text in probe_texts():
        if preprocess is not None:
            text = preprocess(text)
        data = text.encode("utf-8", "surrogatepass")
        texts.update(len(data).to_bytes(8, "little") + data)
        try:
            found = np.asarray(encode(text), dtype="<u4")
        except EncodeError:
            ids.update(b"\xff" * 8)
            continue
        ids.update(len(found).to_bytes(8, "little") + found.tobytes())
        n_tokens += len(found)
    version = f"canary{PROBE_VERSION}:"
    return CanaryReading(version + texts.hexdigest(), version + ids.hexdigest(), n_tokens)
