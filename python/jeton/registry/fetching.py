"""Download a published vocabulary, checked against its SHA-256."""

from __future__ import annotations

import hashlib
import http.client
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from jeton._nearest import nearest
from jeton._published import RankFile, published_vocabularies
from jeton.errors import UnknownTokenizerError, VocabularyError
from jeton.registry.folders import cache_dir
from jeton.registry.places import known_names

_TIMEOUT_SECONDS = 30.0
"""Without an answer for this long, a download is given up."""

_PIECE_BYTES = 1 << 16
_BY_HAND = (
    "hint: HTTPS_PROXY names a proxy; or download the address elsewhere, then "
    "`jeton vocab add FILE --name {}`"
)


def fetch(name: str, *, _address: str | None = None) -> Path:
    """Download a published vocabulary into the cache and return its file.

    A file that is already there and has the right digest is kept. Nothing appears under the
    name before the digest is right.

    Args:
        name: The name of a published vocabulary.
        _address: Another address, for tests.

    Raises:
        UnknownTokenizerError: No such published vocabulary.
        VocabularyError: It has no public address, or what came is not what was published.
        OSError: The network or the disk failed.
    """
    published = published_vocabularies().get(name)
    if published is None:
        names = [v.name for v in published_vocabularies().values() if v.rank_file.url]
        hint = ""
        if name in known_names():
            hint = "it is at hand but not published; `jeton.load` finds it"
        raise UnknownTokenizerError(name, nearest=nearest(name, names), hint=hint)
    file = published.rank_file
    address = _address or file.url
    if address is None:
        raise VocabularyError(
            f"{name} has no public address that may be used without agreeing to terms\n"
            f"hint: get the file from its publisher, then `jeton vocab add FILE --name {name}`"
        )
    target = cache_dir() / f"{file.name}.tiktoken"
    if target.is_file() and hashlib.sha256(target.read_bytes()).hexdigest() == file.sha256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target, so that the last step is a rename; gone with the folder if anything fails.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
        part = Path(folder) / target.name
        _download(address, part, file)
        part.replace(target)
    return target


def _download(address: str, part: Path, file: RankFile) -> None:
    digest = hashlib.sha256()
    n_bytes = 0
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "jeton"})
        with (
            urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response,
            part.open("wb") as out,
        ):
            while piece := response.read(_PIECE_BYTES):
                n_bytes += len(piece)
                if n_bytes > file.n_bytes:
                    break
                digest.update(piece)
                out.write(piece)
    except urllib.error.HTTPError as error:
        raise ConnectionError(
            f"cannot download {file.name}: {address} answered {error.code} {error.reason}\n"
            f"{_BY_HAND.format(file.name)}"
        ) from None
    except urllib.error.URLError as error:
        raise ConnectionError(
            f"cannot download {file.name} from {address}: {error.reason}\n"
            f"{_BY_HAND.format(file.name)}"
        ) from None
    except (http.client.HTTPException, TimeoutError) as error:
        raise ConnectionError(
            f"cannot download {file.name} from {address}: {error or type(error).__name__}\n"
            f"{_BY_HAND.format(file.name)}"
        ) from None
    if n_bytes != file.n_bytes or digest.hexdigest() != file.sha256:
        came = f"more than {file.n_bytes:,}" if n_bytes > file.n_bytes else f"{n_bytes:,}"
        raise VocabularyError(
            f"{address} is not the published {file.name}: {came} bytes came with another SHA-256; "
            f"expected are {file.n_bytes:,} bytes and {file.sha256}\n"
            "hint: nothing was kept; try again, or check the network for a proxy"
        )
