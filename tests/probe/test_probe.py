"""The probe digest: its texts and its layout never change, and so neither does any digest."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import pytest

import jeton
from jeton import EncodeError, Tokenizer, probe_digest
from jeton.probe import PROBE_VERSION, probe_sections, probe_texts
from tests.explaining import variants
from tests.formats import small

# Frozen. Other texts are another version of the probe, in another file; nothing here is edited.
TEXTS_SHA256 = "f1d5aeea8a6e212d71abc46418dc1615c7fb1cb6be9a9c5042eb91a8f0a662a3"
N_TEXTS, N_BYTES = 500, 53_942

BUNDLED = {
    "jeton-code-32k-v1": "74b0ed2032505d7d0d03e31004ad34fce37817ad3e4af1833ee5463410dbfce4",
    "jeton-code-32k-v2": "e318e4f2baa870833cdbd95470c302f259788ad17672939780e44cdeee43ac6c",
    "jeton-general-32k-v1": "76606cdac52901180ad2a89348af1341aba1fcfa9754bd4a8464d916e4d9a665",
    "jeton-general-32k-v2": "7a57f30a2203503efa58ca701620ca14c5b7c234ff23a1f9f5f79ba6db7e701d",
    "jeton-legal-32k-v1": "5662d72ce04e209f5683779ec293cf088b53e82793340d979bf984a5e50c3c86",
    "jeton-legal-32k-v2": "c2cf6c0b3ea547cea2a98f9aa7cc86e37988306a76db05c30fbea2e4ce55101b",
    "jeton-medical-32k-v1": "081eb07c65b7063465d78f49bdb04bcbc6046d5c1820b731f8263c8a35bdeb3c",
    "jeton-medical-32k-v2": "7bfaa79f3d1cba0004411667a0f96b4f10f761f3ffead8534ff6116d3e4be810",
}
SHARED = {
    "r50k_base.tiktoken.zst": "8420ab3c03db542264fc65718c1fe49c2dde3a75e61c590fd6c2791c60be0ee4",
    "gpt2.json.zst": "8420ab3c03db542264fc65718c1fe49c2dde3a75e61c590fd6c2791c60be0ee4",
    "p50k_base.tiktoken.zst": "a968ec44fdc1683e0bf5785b4a34cdcc4bbc8e65afa179e1fbf6d287540c9d74",
    "cl100k_base.tiktoken.zst": "0ac5c02da20db36148eeb9ded0930dcf64aa611f173824355001273bb3d9b0fc",
    "o200k_base.tiktoken.zst": "21d5ab8387a164f4023d458992c3e6c943310686ef81a86308789e756de90a8e",
    "llama3.tiktoken.zst": "8012d164decb03983771af02ab793f225b566f852ed3fe2bebf8b94f9a60e76c",
    "qwen.tiktoken.zst": "70f3e2de3a788ae059d3bc027d862bb7142658197d8f0e2afc755f8b8885683d",
    "gpt_neox_20b.json.zst": "088a95667718c6fbc6f53182f992ca4c641cdf2e12aa610f5183d48e67f46600",
    "falcon.json.zst": "c84664195328ac1f95f4344ea7139ec72027f5b476a0e09d8046f7e8b44ff751",
    "modernbert.json.zst": "088a95667718c6fbc6f53182f992ca4c641cdf2e12aa610f5183d48e67f46600",
    "llama2.model": "993e7dce866ec91b30d94bd8859fd3c84f34b68b4dcdacb24394c35f0656d808",
    "xlnet_base_cased.model.zst": (
        "5429b64a9f282fb66cc91a56113bc4cf07f31b34648f5c400dc4ce7914f0789d"
    ),
    "albert_30k-clean.model.zst": (
        "02e5bfe5fbb07dd4b26cc3d9ccd8bf971845fc4b1cfbfc1d3e5b96a00190aa65"
    ),
}


def naive_digest(tokenizer: Tokenizer) -> str:
    """The layout as it is documented, text by text."""
    data = b""
    for text in probe_texts():
        try:
            ids = tokenizer.encode(text)
        except EncodeError:
            data += struct.pack("<Q", 2**64 - 1)
        else:
            data += struct.pack(f"<Q{len(ids)}I", len(ids), *ids)
    return f"probe1:{hashlib.sha256(data).hexdigest()}"


def test_the_texts_are_frozen() -> None:
    digest = hashlib.sha256()
    for text in probe_texts():
        data = text.encode("utf-8")
        digest.update(struct.pack("<Q", len(data)) + data)
    assert digest.hexdigest() == TEXTS_SHA256
    assert len(probe_texts()) == N_TEXTS
    assert sum(len(text.encode("utf-8")) for text in probe_texts()) == N_BYTES
    assert PROBE_VERSION == 1


def test_each_text_is_there_once() -> None:
    assert len(set(probe_texts())) == N_TEXTS


@pytest.mark.parametrize(
    "piece",
    [
        *("", "\0", "\u017f", "\u212a", "\ufb01", "\uff21", "\u200d", "e\u0301", "\t-r", "\r\n"),
        *("<|endoftext|>", "\U0001fae9", "a" * 1200, " " * 1200, "'LL", "\u4e2d", "\uac00"),
        *("\u0e01", "\U00020000"),
    ],
)
def test_the_texts_hold_what_tells_tokenizers_apart(piece: str) -> None:
    assert any(piece == text or (piece and piece in text) for text in probe_texts())


def test_the_file_says_its_version_and_nothing_else() -> None:
    path = Path(jeton.__file__).with_name(f"probe_{PROBE_VERSION}.json")
    value = json.loads(path.read_text(encoding="utf-8"))
    assert value.keys() == {"probe", "sections"}
    assert value["probe"] == PROBE_VERSION
    assert list(value["sections"]) == list(probe_sections())


def test_the_layout_is_the_documented_one() -> None:
    assert probe_digest(small.tokenizer()) == naive_digest(small.tokenizer())


def test_a_text_that_cannot_be_encoded_has_a_mark_of_its_own() -> None:
    skip, fail = (variants.without_byte(ord("q"), missing=m) for m in ("skip", "fail"))
    with pytest.raises(EncodeError):
        fail.encode("q")
    assert probe_digest(fail) == naive_digest(fail)
    assert probe_digest(fail) != probe_digest(skip)


def test_it_follows_the_ids_and_not_the_writing() -> None:
    a = small.tokenizer()
    b = variants.as_hf(a)
    assert a.fingerprint != b.fingerprint
    assert probe_digest(a) == probe_digest(b)
    assert probe_digest(variants.ranks(merges=small.MERGES[1:])) != probe_digest(a)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_tokenizers(name: str) -> None:
    assert probe_digest(jeton.load(name)) == f"probe1:{BUNDLED[name]}"


@pytest.mark.parametrize("name", SHARED)
def test_published_tokenizers(shared: Path, name: str) -> None:
    tokenizer = jeton.load(shared / "data" / "vocab" / name)
    assert probe_digest(tokenizer) == f"probe1:{SHARED[name]}"
