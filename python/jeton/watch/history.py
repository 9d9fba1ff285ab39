"""A history of good days: learned signals, causes, and the canary text.

JSON, compressed with zstd: sums of the requests by group, a sample of them in the gate's sums
(text, billed tokens and dollars), the tokenizer, and the reading of the canary. A baseline of
`jeton audit` is read, too: it has the lengths and the causes, and the other signals are learned
from the first requests.

Traffic that changes moves no canary. So a canary that moved is a change of the preprocessing or of
the tokenizer, with certainty and at once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from jeton._core import Tokenizer, compress_zstd, decompress
from jeton._core import __version__ as jeton_version
from jeton._files import write_whole
from jeton._foreign import json_of
from jeton.errors import EncodeError, FormatError, RecordError
from jeton.probe import PROBE_VERSION, probe_texts
from jeton.watch.causes import BASELINE_SCHEMA, Baseline, BilledSide, TokenizerIdentity
from jeton.watch.signals import SIGNALS
from jeton.watch.windows import TrafficSums, WatchSums


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


HISTORY_SCHEMA: Final = "jeton.watch/2"

_MAX_FILE_BYTES: Final = 256 << 20
_LEVEL: Final = 9


@dataclass(frozen=True, slots=True)
class WatchHistory:
    """Requests of the past, in figures.

    Attributes:
        sums: Sums by group.
        side: A sample in the gate's sums: text, billed tokens, dollars; None: causes cannot be
            told.
        tokenizer: The tokenizer that counted; None: the log's own counts.
        canary: Reading of the canary; None: none was taken.
        jeton_version: Version that made it.
    """

    sums: WatchSums
    side: BilledSide | None = None
    tokenizer: TokenizerIdentity | None = None
    canary: CanaryReading | None = None
    jeton_version: str = field(default=jeton_version)

    def load_tokenizer(self) -> Tokenizer | None:
        """Load the tokenizer of the history again; None if it is not at hand."""
        return None if self.tokenizer is None else self.tokenizer.tokenizer()

    def to_bytes(self) -> bytes:
        """The file: the same bytes for the same figures."""
        identity = self.tokenizer
        plain = {
            "schema_version": HISTORY_SCHEMA,
            "jeton_version": self.jeton_version,
            "tokenizer": None if identity is None else identity.to_plain(),
            "canary": None if self.canary is None else self.canary.to_plain(),
            "groups": self.sums.to_plain(),
            "side": None if self.side is None else self.side.to_plain(),
        }
        text = json.dumps(plain, separators=(",", ":"), allow_nan=False)
        return compress_zstd(text.encode("ascii"), level=_LEVEL)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file, whole or not at all."""
        write_whole(Path(path), self.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes, *, path: str = "") -> WatchHistory:
        """Read what `to_bytes` wrote, or a baseline of an audit.

        Raises:
            FormatError: It is neither.
            LimitError: It decompresses to more than 256 MiB.
        """
        where = path or "the history"
        try:
            plain = json_of(decompress(data, max_bytes=_MAX_FILE_BYTES, path=path or None))
        except RecordError as error:
            raise FormatError(str(error), path=path or None) from None
        except (ValueError, RecursionError):
            raise FormatError(
                f"{where} is no history: not JSON\nhint: `jeton watch LOGS --save-baseline F` "
                "writes one",
                path=path or None,
            ) from None
        version = plain.get("schema_version") if isinstance(plain, dict) else None
        if isinstance(version, str) and version.startswith(BASELINE_SCHEMA.split("/")[0] + "/"):
            return _of_audit(Baseline.from_bytes(data, path=path or None))
        if version != HISTORY_SCHEMA:
            raise FormatError(
                f"{where} has the schema {version!r}; expected {HISTORY_SCHEMA!r}\n"
                "hint: `jeton watch LOGS --save-baseline F` writes one",
                path=path or None,
            )
        try:
            identity, side = plain["tokenizer"], plain["side"]
            return cls(
                sums=WatchSums.from_plain(plain["groups"]),
                side=None if side is None else BilledSide.from_plain(side),
                tokenizer=None if identity is None else TokenizerIdentity.from_plain(identity),
                canary=CanaryReading.from_plain(plain["canary"]),
                jeton_version=str(plain["jeton_version"]),
            )
        except FormatError as error:
            raise FormatError(f"{where}: {error}", path=path or None) from None
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"{where} is damaged: {error!r}", path=path or None) from None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> WatchHistory:
        """Read a file.

        Raises:
            FileNotFoundError: There is none; the message says how to make it.
            FormatError: It is no history.
        """
        try:
            data = Path(path).read_bytes()
        except FileNotFoundError:
            raise FileNotFoundError(
                f"there is no baseline {os.fspath(path)}\n"
                "hint: make it from a good day: jeton watch LOGS -t T --save-baseline F"
            ) from None
        return cls.from_bytes(data, path=os.fspath(path))


def _of_audit(baseline: Baseline) -> WatchHistory:
    """Lengths by source, and the causes; signals of single requests are not in it."""
    text = baseline.side.text
    sums, signal = WatchSums(), SIGNALS["tokens_per_request"]
    for source in text.domains:
        whole = text.total(source)
        group = sums.groups.setdefault(sums.key("", source, ""), TrafficSums())
        group.n_requests += whole.n
        group.n_tokens += whole.n_tokens[0]
        group.n_bytes += whole.n_bytes[0]
        group.n_chars += whole.n_chars[0]
    levels: Counter[int] = Counter()
    for length, n in text.histogram().items():
        level = signal.level(length)
        if level is not None:
            levels[level] += n
    first = next(iter(sums.groups.values()), None)
    if first is not None:
        first.levels[signal.name] = levels
    return WatchHistory(sums, baseline.side, baseline.tokenizer)
