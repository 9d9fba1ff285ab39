"""Count services as people write them today: FastAPI around tiktoken, or around tokenizers.

``uvicorn benches.service.rivals:tiktoken_app``; the environment names the vocabulary.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

__all__ = ["tiktoken_app", "tokenizers_app"]


class Request(BaseModel):
    """A prompt, in vLLM's shape."""

    prompt: str
    model: str | None = None
    add_special_tokens: bool = True


class Response(BaseModel):
    """Its ids."""

    count: int
    max_model_len: int
    tokens: list[int]


class Counted(BaseModel):
    """Its count alone."""

    count: int


def _app(encode: Any) -> FastAPI:
    app = FastAPI()

    def tokenize(request: Request) -> Response:
        ids = encode(request.prompt)
        return Response(count=len(ids), max_model_len=-1, tokens=ids)

    # The event loop is blocked meanwhile; for 1 KB that is faster than a thread.
    async def count(request: Request) -> Counted:
        return Counted(count=len(encode(request.prompt)))

    app.post("/tokenize")(tokenize)
    app.post("/count")(count)
    return app


def _app_of(peer: Any) -> FastAPI:
    from benches.peers.base import VocabularyFiles
    from benches.vocabularies import prepare

    files = prepare(os.environ["BENCH_VOCABULARY"], target=Path(os.environ["BENCH_FOLDER"]))
    assert isinstance(files, VocabularyFiles)
    peer.load(files)
    return _app(peer.list_call())


def tiktoken_app() -> FastAPI:
    """FastAPI around tiktoken."""
    from benches.peers.tiktoken_peer import TiktokenPeer

    return _app_of(TiktokenPeer())


def tokenizers_app() -> FastAPI:
    """FastAPI around tokenizers."""
    from benches.peers.tokenizers_peer import TokenizersPeer

    return _app_of(TokenizersPeer())
