"""``jeton guard sign`` and ``jeton guard verify``: signatures of lock files."""

from __future__ import annotations

from pathlib import Path

import click

from jeton.cli import options, outputs, streams
from jeton.cli.declaring import command, option


def _signature_of(lock: str, signature: str | None) -> str:
    return signature or f"{lock}.sig"


@command()
@click.argument("lock", metavar="LOCK")
def sign(
    *,
    lock: str,
    private_key: str = option("PEM file of an EC key.", "FILE", required=True),
    output: str | None = option("The signature; by default LOCK.sig.", "F", names="-o --output"),
    as_json: bool = options.JSON,
) -> None:
    """Sign a lock file with a key, so that a change of it shows.

    The signature is a sigstore bundle, which `model_signing verify` reads too. Needs the extra
    `signing`.

    \b
    Examples:
      jeton lock my-model/
      openssl ecparam -name prime256v1 -genkey -noout -out key.pem
      jeton guard sign jeton.lock --private-key key.pem
    """
    from jeton.guard.signing import sign_lock

    target = _signature_of(lock, output)
    outputs.check_folder("-o", Path(target))
    sign_lock(lock, target, private_key=private_key)
    if as_json:
        streams.write_json({"lock": lock, "signature": target})
    outputs.say_written(target)


@command()
@click.argument("lock", metavar="LOCK")
def verify(
    *,
    lock: str,
    public_key: str = option("PEM file of the public key.", "FILE", required=True),
    signature: str | None = option("The signature; by default LOCK.sig.", "F"),
    as_json: bool = options.JSON,
) -> int:
    """Check the signature of a lock file.

    Exit code 1: the file or the signature is another, or the key is not the signer's.

    \b
    Examples:
      jeton guard verify jeton.lock --public-key key.pub
    """
    from jeton.guard.signing import verify_lock

    signature = _signature_of(lock, signature)
    reason = verify_lock(lock, signature, public_key=public_key)
    is_verified = reason is None
    if as_json:
        streams.write_json(
            {"lock": lock, "signature": signature, "verified": is_verified, "reason": reason}
        )
    elif reason is None:
        streams.write_line("the signature is of this file and this key")
    else:
        streams.write_line(f"not verified: {streams.shown(reason)}")
    return 0 if is_verified else 1
