"""Tools for coding agents and chat programs, by the Model Context Protocol.

The tools here are plain functions with limits; `server` gives them to the official ``mcp`` package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jeton._plain import plain_values
from jeton.errors import EmptyCorpusError, LimitError, UsageError
from jeton.service.tokenizers import ServedTokenizers

# The tools: each takes a text or a file below a root, and returns a few plain values.
#
# A tool reads no file outside of its roots, asks no network, and returns no more than a model's
# context takes well.

MAX_TEXT_CHARS = 2_000_000
MAX_FILE_BYTES = 64 << 20
MAX_SHOWN = 12
"""Findings, places and the like in one answer."""
MAX_SHOWN_CHARS = 400
"""Characters of one sentence or text in an answer."""
N_EXPLAIN_CASES = 2_000
"""Texts that are tried for a difference: some seconds."""


@dataclass(frozen=True, slots=True)
class AgentTools:
    """Tools on some tokenizers and folders.

    Attributes:
        tokenizers: Tokenizers by name; the first one is the default.
        roots: Folders whose files may be read.
    """

    tokenizers: ServedTokenizers
    roots: tuple[Path, ...] = field(default_factory=lambda: (Path.cwd(),))

    def count_tokens(
        self, text: str | None = None, path: str | None = None, tokenizer: str | None = None
    ) -> dict[str, Any]:
        """Count the tokens of a text or of a file, exactly, by a real tokenizer.

        Args:
            text: The text.
            path: A file instead of the text.
            tokenizer: Name of the tokenizer; the first one by default.
        """
        served = self.tokenizers.get(tokenizer)
        given = self._text(text, path)
        n_tokens = served.tokenizer.count(given)
        return {
            "tokens": n_tokens,
            "bytes": len(given.encode("utf-8", "replace")),
            "characters": len(given),
            "tokenizer": served.name,
            "fingerprint": served.fingerprint,
            "basis": "exact",
        }

    def compare_tokenizers(
        self,
        text: str | None = None,
        path: str | None = None,
        tokenizers: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Compare how many tokens a text or file has under several tokenizers.

        Args:
            text: The text.
            path: A file instead of the text.
            tokenizers: Names; all that this server has by default.
        """
        given = self._text(text, path)
        rows = []
        first = 0
        for served in self.tokenizers.several(
            list(tokenizers or self.tokenizers.names)[:MAX_SHOWN]
        ):
            n_tokens = served.tokenizer.count(given)
            first = first or n_tokens
            rows.append(
                {
                    "tokenizer": served.name,
                    "tokens": n_tokens,
                    "change": round(n_tokens / first - 1, 4) if first else 0.0,
                    "fingerprint": served.fingerprint,
                }
            )
        return {"tokenizers": rows, "basis": "exact"}

    def price_prompt(
        self,
        model: str,
        text: str | None = None,
        path: str | None = None,
        output_tokens: int = 0,
        tokenizer: str | None = None,
    ) -> dict[str, Any]:
        """Say what one request with this prompt costs by the published price of a model.

        Args:
            model: The priced model: MODEL or PROVIDER:MODEL, or usd:INPUT/OUTPUT per million.
            text: The prompt.
            path: A file instead of the prompt.
            output_tokens: Tokens of the answer.
            tokenizer: Name of the tokenizer; by default the model's own, where it is at hand.
        """
        from jeton import catalog
        from jeton.registry import load
        from jeton.registry.of_models import vocabulary_of_model

        if not 0 <= output_tokens <= 10**9:
            raise UsageError(f"output_tokens is {output_tokens}; expected at least 0")
        price = catalog.price(model)
        given = self._text(text, path)
        own = None if tokenizer else _own_vocabulary(model, vocabulary_of_model)
        if own is not None:
            name, counted, basis = own, load(own), "exact"
        else:
            served = self.tokenizers.get(tokenizer)
            # The tokenizer may be another one than the model's.
            name, counted, basis = served.name, served.tokenizer, "estimated"
        n_tokens = counted.count(given)
        usd = price.usd_for(n_tokens, output_tokens)
        return {
            "usd": format(usd, "f"),
            "input_tokens": n_tokens,
            "output_tokens": output_tokens,
            "model": model,
            "tokenizer": name,
            "basis": basis,
        }

    def audit_file(
        self,
        path: str,
        tokenizers: Sequence[str] | None = None,
        price_model: str | None = None,
        logs: bool = False,  # noqa: FBT001, FBT002 - named by the protocol
    ) -> dict[str, Any]:
        """Audit a file of text or a log of requests: what tokenization costs, what to change.

        Args:
            path: The file, or a folder.
            tokenizers: Names; the first one of this server by default.
            price_model: Model whose published price counts.
            logs: True if the file holds requests with messages and usage.
        """
        from jeton.auditing import audit

        place = self._place(path)
        names = list(tokenizers or self.tokenizers.names[:1])
        try:
            report = audit(
                [str(place)],
                tokenizers=[item.tokenizer for item in self.tokenizers.several(names)],
                price_model=price_model,
                logs=logs,
                quality=False,
            )
        except EmptyCorpusError as error:
            said, other = str(error).partition("\nhint: ")[0], "false" if logs else "true"
            raise EmptyCorpusError(f"{said}\nhint: try logs: {other}") from None
        findings = [
            {
                "title": _short(finding.title),
                "remedy": _short(finding.remedy),
                "saves_usd_per_year": plain_values(finding.saving_usd_per_year),
                "basis": str(finding.figure.basis),
            }
            for finding in report.findings[:MAX_SHOWN]
        ]
        return {
            "documents": report.corpus.n_documents,
            "bytes": report.corpus.n_bytes,
            "tokens": {item.name: item.n_tokens for item in report.tokenizers},
            "findings": findings,
            "more_findings": max(0, len(report.findings) - MAX_SHOWN),
            "notices": [_short(notice) for notice in report.notices[:MAX_SHOWN]],
        }

    def explain_difference(self, a: str, b: str, text: str | None = None) -> dict[str, Any]:
        """Find a smallest text on which two tokenizers differ, and the component that causes it.

        Args:
            a: Name of the first tokenizer.
            b: Name of the second.
            text: A text to try first.
        """
        from jeton.explaining import explain

        one, other = self.tokenizers.several([a, b])
        texts = None if text is None else [self._text(text, None)]
        found = explain(one.tokenizer, other.tokenizer, texts=texts, n_cases=N_EXPLAIN_CASES)
        answer: dict[str, Any] = {"verdict": found.verdict, "texts_tried": found.n_texts}
        if found.difference is not None:
            difference = found.difference
            answer |= {
                "text": _short(difference.text),
                "text_escaped": _short(ascii(difference.text)),
                "ids_a": list(difference.a.ids[:MAX_SHOWN]),
                "ids_b": list(difference.b.ids[:MAX_SHOWN]),
                "component": difference.component,
                "cause": _short(difference.cause),
                "is_proven": difference.is_proven,
            }
        return answer

    def guard_text(
        self, text: str | None = None, path: str | None = None, tokenizer: str | None = None
    ) -> dict[str, Any]:
        """Look for hidden, forged or disguised characters and special tokens in a text or file.

        Args:
            text: The text.
            path: A file instead of the text.
            tokenizer: Name of the tokenizer whose special tokens count, too.
        """
        from jeton.guard import scan
        from jeton.guard.verdict import gravest

        served = self.tokenizers.get(tokenizer)
        verdict = scan(self._text(text, path), tokenizer=served.tokenizer)
        return {
            "is_clean": verdict.is_clean,
            "worst": None if verdict.worst is None else verdict.worst.value,
            "counts": dict(verdict.counts),
            "findings": [
                {
                    "kind": one.kind,
                    "severity": str(one.severity),
                    "start": one.start,
                    "end": one.end,
                    "what": _short(one.what),
                    # Somebody hid it to be read: it is shown, and no instruction.
                    "payload": None if one.payload is None else _short(one.payload),
                }
                for one in gravest(verdict.findings, MAX_SHOWN, lambda one: one.severity)
            ],
        }

    def _text(self, text: str | None, path: str | None) -> str:
        if (text is None) == (path is None):
            raise UsageError("give text or path, and not both")
        if text is not None:
            if len(text) > MAX_TEXT_CHARS:
                raise LimitError(
                    f"the text has {len(text):,} characters; at most {MAX_TEXT_CHARS:,}\n"
                    "hint: give the path of a file",
                    what="text",
                    limit=MAX_TEXT_CHARS,
                )
            return text
        place = self._place(path or "")
        if not place.is_file():
            raise UsageError(f"{path} is no file")
        return place.read_bytes().decode("utf-8", "replace")

    def _place(self, path: str) -> Path:
        """Return a path below one of the roots, links followed.

        Raises:
            UsageError: It lies elsewhere.
            LimitError: It is too large.
        """
        for root in self.roots:
            place = (root / path).resolve()
            if place.is_relative_to(root.resolve()) and place.exists():
                n_bytes = _size(place)
                if n_bytes > MAX_FILE_BYTES:
                    raise LimitError(
                        f"{path} has {n_bytes:,} bytes; at most {MAX_FILE_BYTES:,}\n"
                        "hint: the command line has no such limit",
                        what="file",
                        limit=MAX_FILE_BYTES,
                    )
                return place
        raise UsageError(f"{path} is not below a folder that may be read\nhint: jeton mcp --root D")


def _size(place: Path) -> int:
    if place.is_file():
        return place.stat().st_size
    total = 0
    for file in place.rglob("*"):
        if file.is_file():
            total += file.stat().st_size
        if total > MAX_FILE_BYTES:
            break
    return total


def _own_vocabulary(model: str, find: Any) -> str | None:
    from jeton.errors import UnknownTokenizerError

    try:
        found: str | None = find(model.partition("@")[0].rpartition(":")[2])
    except UnknownTokenizerError:
        return None
    return found


def _short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else text[: MAX_SHOWN_CHARS - 1] + "…"
