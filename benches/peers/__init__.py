"""The adapters, one file for each library; imported when asked for, absent ones reported."""

from __future__ import annotations

from importlib import import_module

from benches.peers.base import Adapter, Unsupported

__all__ = ["ENCODERS", "make_adapter"]

ENCODERS: dict[str, str] = {
    "jeton": "benches.peers.jeton_peer:JetonPeer",
    "tiktoken": "benches.peers.tiktoken_peer:TiktokenPeer",
    "tokenizers": "benches.peers.tokenizers_peer:TokenizersPeer",
    "gigatoken": "benches.peers.gigatoken_peer:GigatokenPeer",
    "fastokens": "benches.peers.fastokens_peer:FastokensPeer",
    "toktok": "benches.peers.toktok_peer:ToktokPeer",
    "splintr": "benches.peers.splintr_peer:SplintrPeer",
    "quicktok": "benches.peers.quicktok_peer:QuicktokPeer",
    "rs-bpe": "benches.peers.rs_bpe_peer:RsBpePeer",
    "tokie": "benches.peers.tokie_peer:TokiePeer",
    "kitoken": "benches.peers.kitoken_peer:KitokenPeer",
    "sentencepiece": "benches.peers.sentencepiece_peer:SentencePiecePeer",
    "blingfire": "benches.peers.blingfire_peer:BlingfirePeer",
}
"""Name -> ``module:class`` of every encoder."""


def make_adapter(name: str) -> Adapter:
    """Import the library called ``name`` and return an adapter that has no vocabulary yet.

    Raises:
        Unsupported: the library is not installed here.
        KeyError: no adapter of this name.
    """
    module_name, class_name = ENCODERS[name].split(":")
    try:
        adapter: Adapter = getattr(import_module(module_name), class_name)()
    except ImportError as error:
        raise Unsupported(f"{name} cannot be imported: {error}") from error
    return adapter
