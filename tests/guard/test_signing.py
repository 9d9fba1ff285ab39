"""Signatures of lock files by ``model-signing``: what was signed, by whose key."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from jeton.cli.app import app


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a lock, a key, and the key of somebody else."""
    monkeypatch.chdir(tmp_path)
    for name in ("own", "other"):
        key = ec.generate_private_key(ec.SECP256R1())
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        (tmp_path / f"{name}.pem").write_bytes(private)
        (tmp_path / f"{name}.pub").write_bytes(public)
    assert run("lock", "jeton-general-32k").exit_code == 0
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def sign() -> Result:
    return run("guard", "sign", "jeton.lock", "--private-key", "own.pem")


def verify(*more: str, key: str = "own.pub") -> Result:
    return run("guard", "verify", "jeton.lock", "--public-key", key, *more)


def test_a_signature_is_of_one_file_and_one_key(keys: Path) -> None:
    pytest.importorskip("model_signing")
    assert sign().exit_code == 0
    assert json.loads((keys / "jeton.lock.sig").read_text())["mediaType"].startswith(
        "application/vnd.dev.sigstore.bundle"
    )
    assert verify().exit_code == 0
    told = verify("--json", key="other.pub")
    assert (told.exit_code, json.loads(told.stdout)["verified"]) == (1, False)
    lock = keys / "jeton.lock"
    lock.write_bytes(lock.read_bytes().replace(b'"', b"'", 1))
    assert verify().exit_code == 1
    (keys / "jeton.lock.sig").write_text("{}")
    assert verify().exit_code == 1


def test_bad_keys_and_missing_files(keys: Path) -> None:
    pytest.importorskip("model_signing")
    (keys / "own.pem").write_text("no key")
    bad = sign()
    assert bad.exit_code == 2
    assert "own.pem is no usable private key" in bad.stderr
    assert not (keys / "jeton.lock.sig").exists()
    (keys / "own.pem").unlink()
    for missing in (sign(), verify()):
        assert missing.exit_code == 2
        assert missing.stderr.startswith("jeton: error: ")
    verify_bad = run("guard", "verify", "jeton.lock", "--public-key", "own.pem")
    assert verify_bad.exit_code == 2


def test_without_the_library_the_extra_is_named(
    keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def none_of_it(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("model_signing"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", none_of_it)
    result = sign()
    assert result.exit_code == 2
    assert "signing a lock needs the optional dependencies of jeton[signing]" in result.stderr
