"""Streamed answers put together again: pieces of OpenAI, Anthropic, Bedrock, Gemini and others.

A gateway logs a streamed answer as the list of its pieces, as the raw text of the stream, or piece
by piece, one a line. Each form becomes the answer that would have come without streaming, with the
counts of its last piece: those of earlier ones are running totals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from jeton._foreign import json_of
from jeton.corpus.requests.fields import Fields, fields_of

PIECE_KINDS: Final[dict[str, str]] = {
    "openai": "`object` ends with `.chunk`",
    "responses": "`type` begins with `response.`",
    "anthropic": "`message_start` ... `message_stop`",
    "bedrock": "`messageStart` ... `metadata`",
    "cohere": "`message-start` ... `message-end`, or `event_type`",
    "ollama": "`done` with a `model`",
    "gemini": "a list of objects with `usageMetadata`",
    "invocation": "the last has `amazon-bedrock-invocationMetrics`",
}
"""Providers of known stream pieces, by the fields that tell them."""

_ANTHROPIC: Final = frozenset(
    {
        "message_start", "content_block_start", "content_block_delta", "content_block_stop",
        "message_delta", "message_stop", "ping",
    }
)  # fmt: skip
_COHERE: Final = frozenset(
    {
        "message-start", "content-start", "content-delta", "content-end", "tool-plan-delta",
        "tool-call-start", "tool-call-delta", "tool-call-end", "citation-start", "citation-end",
        "message-end",
    }
)  # fmt: skip
_COHERE_EVENTS: Final = frozenset(
    {
        "stream-start", "search-queries-generation", "search-results", "text-generation",
        "citation-generation", "tool-calls-generation", "tool-calls-chunk", "stream-end",
    }
)  # fmt: skip
_BEDROCK: Final = (
    "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop",
    "metadata",
)  # fmt: skip
_FINISHED: Final = (
    "response.completed", "response.incomplete", "response.failed", "response.done",
    "response.cancelled",
)  # fmt: skip
_METRICS: Final = "amazon-bedrock-invocationMetrics"
_WRAPPERS: Final = ("chunk", "data", "event")
_MAX_TEXTS: Final = 1_000_000


def piece_kind(piece: Any, names: Fields | None = None) -> str:
    """Kind of stream that a record is a piece of; empty: none."""
    if not isinstance(piece, dict):
        return ""
    has = (names or fields_of(piece)).has
    if "object" in has:
        kind = piece.get("object")
        if isinstance(kind, str) and kind.endswith(".chunk"):
            return "openai"
    if "type" in has:
        kind = piece.get("type")
        if isinstance(kind, str):
            if kind in _ANTHROPIC:
                return "anthropic"
            if kind.startswith("response."):
                return "responses"
            if kind in _COHERE:
                return "cohere"
    if "event_type" in has and piece.get("event_type") in _COHERE_EVENTS:
        return "cohere"
    if "done" in has and isinstance(piece.get("done"), bool) and "model" in has:
        return "ollama"
    if 0 < len(piece) <= 2 and all(key in _BEDROCK for key in piece):
        metadata = piece.get("metadata")
        if metadata is None or (isinstance(metadata, dict) and "usage" in metadata):
            return "bedrock"
    return ""


def unwrapped_piece(record: Mapping[str, Any], names: Fields) -> tuple[Any, str]:
    """The piece of a record that is one, or holds one beside a time; and its kind."""
    kind = piece_kind(record, names)
    if kind:
        return record, kind
    for key in _WRAPPERS:
        if key in names.has:
            inner = record.get(key)
            if isinstance(inner, str) and inner[:1] == "{":
                inner = _parsed(inner)
            if isinstance(inner, dict):
                kind = piece_kind(inner)
                if kind:
                    return inner, kind
    return record, ""


class Answer:
    """A streamed answer as far as its pieces were seen.

    Attributes:
        kind: Kind of the stream.
        id: Id of the answer; empty: not stated yet.
        n_pieces: Pieces taken.
        is_finished: True if its last piece was taken.
        n_chars: Characters of its text.
    """

    __slots__ = ("_facts", "_final", "_texts", "_usage", "id", "is_finished", "kind", "n_chars",
                 "n_pieces")  # fmt: skip

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.id = ""
        self.n_pieces = 0
        self.is_finished = False
        self.n_chars = 0
        self._texts: list[str] = []
        self._usage: dict[str, Any] = {}
        self._facts: dict[str, Any] = {}
        self._final: Mapping[str, Any] | None = None

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take the next piece."""
        self.n_pieces += 1
        getattr(self, f"_add_{self.kind}")(piece)

    def response(self) -> dict[str, Any]:
        """The answer as one object of its provider."""
        text = "".join(self._texts)
        if self._final is not None and (text == "" or "output" in self._final):
            return {**self._facts, **self._final}
        usage = {"usage": self._usage} if self._usage else {}
        if self.kind == "anthropic":
            content = [{"type": "text", "text": text}]
            return {"type": "message", **self._facts, "content": content, **usage}
        if self.kind == "gemini":
            parts = {"content": {"role": "model", "parts": [{"text": text}]}}
            grounding = self._facts.pop("groundingMetadata", None)
            if grounding is not None:
                parts["groundingMetadata"] = grounding
            found = {"usageMetadata": self._usage} if self._usage else {}
            return {**self._facts, "candidates": [parts], **found}
        if self.kind == "bedrock":
            message = {"message": {"role": "assistant", "content": [{"text": text}]}}
            return {"stopReason": "", **self._facts, "output": message, **usage}
        if self.kind in ("ollama", "invocation"):
            return {**self._facts, "text": text}
        if self.kind == "cohere":
            return {**self._facts, "text": text, **usage}
        return {**self._facts, "choices": [{"message": {"content": text}}], **usage}

    def _text(self, text: Any) -> None:
        if isinstance(text, str) and text and len(self._texts) < _MAX_TEXTS:
            self._texts.append(text)
            self.n_chars += len(text)

    def _take_usage(self, usage: Any) -> None:
        """Later counts replace earlier ones; what a later piece leaves out stays."""
        if isinstance(usage, dict):
            for key, value in usage.items():
                if value is not None:
                    self._usage[key] = value

    def _take_facts(self, piece: Mapping[str, Any], *, but: Iterable[str] = ()) -> None:
        for key, value in piece.items():
            if value is not None and key not in but:
                self._facts[key] = value

    def _take_id(self, value: Any) -> None:
        if isinstance(value, str | int) and not self.id:
            self.id = str(value)[:128]

    def _add_openai(self, piece: Mapping[str, Any]) -> None:
        self._take_id(piece.get("id"))
        self._take_facts(piece, but=("choices", "usage", "object"))
        self._take_usage(piece.get("usage"))
        choices = piece.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                delta = choice.get("delta")
                self._text(delta.get("content") if isinstance(delta, dict) else choice.get("text"))

    def _add_anthropic(self, piece: Mapping[str, Any]) -> None:
        message = piece.get("message")
        if isinstance(message, dict):
            self._take_id(message.get("id"))
            self._take_facts(message, but=("content", "usage"))
            self._take_usage(message.get("usage"))
        self._take_usage(piece.get("usage"))
        delta = piece.get("delta")
        if isinstance(delta, dict):
            for key in ("text", "thinking", "partial_json"):
                self._text(delta.get(key))
        if isinstance(piece.get(_METRICS), dict):
            self._facts[_METRICS] = piece[_METRICS]
        self.is_finished = piece.get("type") == "message_stop"

    def _add_responses(self, piece: Mapping[str, Any]) -> None:
        response = piece.get("response")
        if isinstance(response, dict):
            self._take_id(response.get("id"))
            self._final = {"object": "response", **response}
        if piece.get("type") == "response.output_text.delta":
            self._text(piece.get("delta"))
        self.is_finished = piece.get("type") in _FINISHED

    def _add_bedrock(self, piece: Mapping[str, Any]) -> None:
        delta = piece.get("contentBlockDelta")
        inner = delta.get("delta") if isinstance(delta, dict) else None
        if isinstance(inner, dict):
            self._text(inner.get("text"))
        stop = piece.get("messageStop")
        if isinstance(stop, dict):
            self._facts["stopReason"] = stop.get("stopReason") or ""
        metadata = piece.get("metadata")
        if isinstance(metadata, dict):
            self._take_usage(metadata.get("usage"))
            self._take_facts(metadata, but=("usage", "metrics"))
            self.is_finished = True

    def _add_cohere(self, piece: Mapping[str, Any]) -> None:
        self._take_id(piece.get("id") or piece.get("generation_id"))
        delta = piece.get("delta")
        if isinstance(delta, dict):
            self._take_usage(delta.get("usage"))
            message = delta.get("message")
            content = message.get("content") if isinstance(message, dict) else None
            self._text(content.get("text") if isinstance(content, dict) else None)
        if piece.get("event_type") == "text-generation":
            self._text(piece.get("text"))
        response = piece.get("response")
        if isinstance(response, dict):
            self._take_id(response.get("response_id"))
            self._take_facts(response, but=("text", "chat_history"))
        if self.id:
            self._facts["id"] = self.id
        kind = piece.get("type") or piece.get("event_type")
        self.is_finished = kind in ("message-end", "stream-end")

    def _add_ollama(self, piece: Mapping[str, Any]) -> None:
        message = piece.get("message")
        self._text(message.get("content") if isinstance(message, dict) else piece.get("response"))
        self._take_facts(piece, but=("message", "response", "context"))
        self.is_finished = piece.get("done") is True

    def _add_invocation(self, piece: Mapping[str, Any]) -> None:
        self._take_facts(piece, but=("generation", "outputText", "completion", "outputs"))
        for key in ("generation", "outputText", "completion"):
            self._text(piece.get(key))
        outputs = piece.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            self._text(output.get("text") if isinstance(output, dict) else None)

    def _add_gemini(self, piece: Mapping[str, Any]) -> None:
        self._take_id(piece.get("responseId") or piece.get("response_id"))
        self._take_facts(piece, but=("candidates", "usageMetadata", "usage_metadata"))
        self._take_usage(piece.get("usageMetadata") or piece.get("usage_metadata"))
        candidates = piece.get("candidates")
        for candidate in candidates if isinstance(candidates, list) else ():
            if not isinstance(candidate, dict):
                continue
            if "groundingMetadata" in candidate:
                self._facts["groundingMetadata"] = candidate["groundingMetadata"]
            content = candidate.get("content")
            parts = content.get("parts") if isinstance(content, dict) else None
            for part in parts if isinstance(parts, list) else ():
                self._text(part.get("text") if isinstance(part, dict) else None)


def answer_of(pieces: list[Any]) -> Answer | None:
    """The answer that a list of pieces makes; None: they are none."""
    kind = ""
    for piece in pieces[:8]:
        kind = piece_kind(piece)
        if not kind and isinstance(piece, dict) and isinstance(piece.get("choices"), list):
            choices = piece["choices"]
            is_piece = bool(choices) and isinstance(choices[0], dict) and "delta" in choices[0]
            kind = "openai" if is_piece else ""
        if kind:
            break
    else:
        kind = "gemini" if _are_gemini(pieces) else "invocation" if _are_invoked(pieces) else ""
    if not kind:
        return None
    answer = Answer(kind)
    for piece in pieces:
        if isinstance(piece, dict):
            answer.add(piece)
    return answer


def _are_invoked(pieces: list[Any]) -> bool:
    """True if objects are pieces of an answer of a model of Bedrock without events of its own."""
    last = pieces[-1] if pieces else None
    return isinstance(last, dict) and _METRICS in last


def _are_gemini(pieces: list[Any]) -> bool:
    """True if objects are pieces of one answer of Gemini: one prompt, totals that grow."""
    prompts: set[str] = set()
    ids: set[str] = set()
    total = n_ended = 0
    if len(pieces) < 2:
        return False
    for piece in pieces:
        if not isinstance(piece, dict) or not ("usageMetadata" in piece or "candidates" in piece):
            return False
        if any(key in piece for key in ("request", "contents", "response", "prompt")):
            return False
        usage = piece.get("usageMetadata")
        usage = usage if isinstance(usage, dict) else {}
        if usage.get("promptTokenCount") is not None:
            prompts.add(str(usage["promptTokenCount"])[:40])
        if piece.get("responseId") is not None:
            ids.add(str(piece["responseId"])[:128])
        own = usage.get("totalTokenCount", total)
        if not isinstance(own, int) or own < total:
            return False
        total = own
        candidates = piece.get("candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else None
        n_ended += isinstance(first, dict) and bool(first.get("finishReason"))
    return len(prompts) <= 1 and len(ids) <= 1 and n_ended <= 1


def pieces_of_text(text: str) -> list[Any] | None:
    """The pieces of a stream that was kept as its raw text (server-sent events); None: it is none.

    Lines of ``data:`` hold the pieces; ``event:``, ``id:`` and comments say nothing more.
    """
    start = text[:64].lstrip()
    if not start.startswith(("data:", "event:", ": ", "id:", "retry:")):
        return None
    pieces = []
    for line in text.splitlines():
        if line.startswith("data:"):
            value = _parsed(line[5:].strip())
            if isinstance(value, dict):
                pieces.append(value)
    return pieces or None


def _parsed(text: str) -> Any:
    try:
        return json_of(text, any_integer=True)
    except (ValueError, RecursionError):
        return None
