"""How much an untrusted template may take."""

from __future__ import annotations

from dataclasses import dataclass

from jeton.errors import TemplateLimitError


@dataclass(frozen=True, slots=True)
class TemplateLimits:
    """Limits of one rendering, all of them generous for templates that write a chat.

    Attributes:
        seconds: Wall-clock time. Published templates take milliseconds.
        memory_bytes: Memory beyond what the process has when it starts.
        output_chars: Length of the text in code points; holds for trusted templates, too.
    """

    seconds: float = 5.0
    memory_bytes: int = 256 << 20
    output_chars: int = 16 << 20


def stopped(reason: str, *, limit: str, line: int | None = None) -> TemplateLimitError:
    """The error of a template that took too much of something.

    Args:
        reason: The limit: ``time``, ``memory`` ... (``TemplateLimitError.reason``).
        limit: How much there was, in words.
        line: A line of the template.
    """
    where = "" if line is None else f" in line {line}"
    return TemplateLimitError(
        f"the chat template was stopped{where}: it takes too much {reason} (limit: {limit})\n"
        "hint: a template that writes a chat needs little; Limits(...) allows more",
        reason=reason,
        limit=limit,
        line=line,
    )
