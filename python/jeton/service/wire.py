"""A route of the service: a path, two types, and a function between them.

The function runs in a thread of the pool and sees neither HTTP nor the event loop. One table of
routes makes the OpenAPI document, the framework's handlers, and the express lane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from jeton.findings import Basis
from jeton.service.failures import HttpFailure, own_shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.service.arrow import ArrowForm
    from jeton.service.state import ServiceState
    from jeton.service.tokenizers import ServedTokenizer

_ENCODER = msgspec.json.Encoder()
_IDS_A_PIECE = 8_192
"""Ids that are written in one go, some 0.2 ms: other threads wait for the interpreter meanwhile."""


class Worked(NamedTuple):
    """Outcome of a route's function.

    Attributes:
        answer: The body.
        served: The tokenizer that it is by.
        basis: Exact, calibrated or estimated.
        n_tokens: Tokens that were counted or made.
        texts: Texts that were counted, for watchers.
    """

    answer: Any
    served: ServedTokenizer
    basis: Basis
    n_tokens: int
    texts: Any = ()


@dataclass(frozen=True, slots=True)
class ServiceRoute:
    """One POST route.

    Attributes:
        path: Its path.
        summary: One line for the document.
        request: Type of the body.
        answer: Type of the answer.
        work: The function.
        shape: Writes a failure as this route's server does.
        arrow: Columns of Arrow streams; None: JSON alone.
        is_heavy: True if a call may take long at any size.
        tag: Group in the document.
        invalid_status: Status of a body that does not fit the type.
        is_any_type: True if the original reads JSON under any Content-Type, as curl sends it.
    """

    path: str
    summary: str
    request: Any
    answer: Any
    work: Callable[[ServiceState, Any], Worked]
    shape: Callable[[HttpFailure], dict[str, Any]] = own_shape
    arrow: ArrowForm | None = None
    is_heavy: bool = False
    tag: str = "own"
    invalid_status: int = 400
    is_any_type: bool = False

    @property
    def name(self) -> str:
        """Name in metrics and logs."""
        return self.path

    def run(self, state: ServiceState, request: Any) -> Worked:
        """Work, and hold the limit on tokens.

        Raises:
            ServiceFailure: The request has more tokens; the status is 413.
        """
        worked = self.work(state, request)
        state.check_tokens(worked.n_tokens)
        return worked


def json_bytes(value: Any) -> bytes:
    """Return JSON of structs, dataclasses and plain values."""
    return _ENCODER.encode(value)


def ids_of(ids: NDArray[np.uint32]) -> list[int]:
    """Return ids as a list, or as its JSON where they are many; both are written alike.

    A list of 100,000 ids takes milliseconds in which no other thread runs, the event loop's
    included, so long ones are written piece by piece.
    """
    if len(ids) <= _IDS_A_PIECE:
        plain: list[int] = ids.tolist()
        return plain
    pieces = [
        _ENCODER.encode(ids[start : start + _IDS_A_PIECE].tolist())[1:-1]
        for start in range(0, len(ids), _IDS_A_PIECE)
    ]
    # The encoder takes it wherever a value may stand.
    written: Any = msgspec.Raw(b"[" + b",".join(pieces) + b"]")
    return written  # type: ignore[no-any-return]
