"""Signatures of lock files: a digest of what a tokenizer does, signed with a key of one's own.

A lock fixes what a tokenizer is and does (`jeton.locking`); its signature says who fixed it. The
format is that of ``model-signing`` (sigstore's bundles, elliptic-curve keys), so that its own
command can verify it too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from jeton.errors import MissingExtraError, UsageError


def _library(feature: str) -> Any:
    try:
        import model_signing.signing
        import model_signing.verifying
    except ImportError as error:
        raise MissingExtraError(feature, extra="signing") from error
    return model_signing


def sign_lock(
    lock: str | os.PathLike[str],
    signature: str | os.PathLike[str],
    *,
    private_key: str | os.PathLike[str],
) -> None:
    """Sign a lock file.

    Args:
        lock: The lock file.
        signature: File for the signature.
        private_key: PEM file of an elliptic-curve key (``openssl ecparam -name prime256v1``).

    Raises:
        MissingExtraError: The library is not installed.
        UsageError: The key is none.
        OSError: A file cannot be read or written.
    """
    library = _library("signing a lock")
    for path in (lock, private_key):
        Path(path).open("rb").close()
    try:
        config = library.signing.Config().use_elliptic_key_signer(private_key=Path(private_key))
    except (ValueError, TypeError) as error:
        raise UsageError(f"{private_key} is no usable private key: {error}") from None
    made = Path(signature)
    temporary = made.with_name(made.name + ".part")
    try:
        config.sign(Path(lock), temporary)
        temporary.replace(made)
    finally:
        temporary.unlink(missing_ok=True)


def verify_lock(
    lock: str | os.PathLike[str],
    signature: str | os.PathLike[str],
    *,
    public_key: str | os.PathLike[str],
) -> str | None:
    """Check the signature of a lock file.

    Returns:
        None if the signature is of this file and this key, else the reason why it is not.

    Raises:
        MissingExtraError: The library is not installed.
        OSError: A file cannot be read.
    """
    library = _library("verifying a lock")
    for path in (lock, signature, public_key):
        Path(path).open("rb").close()
    try:
        config = library.verifying.Config().use_elliptic_key_verifier(public_key=Path(public_key))
        config.verify(Path(lock), Path(signature))
    except Exception as error:
        # The library has no base class for what it finds wrong.
        return str(error) or type(error).__name__
    return None
