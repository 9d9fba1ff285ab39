"""Routes in the shape of other servers: one file each, one line here.

Shapes are those of the servers' own documentation, read 2026-11. Text that looks like a special
token stays text here, whatever the original does.
"""

from __future__ import annotations

from dataclasses import replace

from jeton._nearest import nearest
from jeton.errors import UsageError
from jeton.service.compat.anthropic import ANTHROPIC
from jeton.service.compat.cohere import COHERE
from jeton.service.compat.llama_cpp import LLAMA_CPP
from jeton.service.compat.openai import OPENAI
from jeton.service.compat.sglang import SGLANG
from jeton.service.compat.tei import TEI
from jeton.service.compat.vllm import VLLM
from jeton.service.wire import ServiceRoute

__all__ = ["COMPAT", "compat_routes"]

COMPAT: dict[str, tuple[ServiceRoute, ...]] = {
    "vllm": VLLM,
    "sglang": SGLANG,
    "llama.cpp": LLAMA_CPP,
    "tei": TEI,
    "anthropic": ANTHROPIC,
    "openai": OPENAI,
    "cohere": COHERE,
}
"""Routes by the name of the server whose shape they have."""


def compat_routes(name: str) -> tuple[ServiceRoute, ...]:
    """Return the routes of a name, or of ``NAME=/PREFIX`` with other paths.

    Raises:
        UsageError: The name is not known, or the prefix is none.

    Example:
        >>> [route.path for route in compat_routes("cohere=/co")]
        ['/co/v1/tokenize', '/co/v1/detokenize']
    """
    name, equals, prefix = name.partition("=")
    if name not in COMPAT:
        near = nearest(name, COMPAT) or COMPAT
        raise UsageError(f"unknown shape {name!r}\nhint: {', '.join(near)}")
    if equals and (not prefix.startswith("/") or prefix.endswith("/")):
        raise UsageError(f"the prefix of {name} is {prefix!r}; expected a path, as /{name}")
    return tuple(replace(route, path=prefix + route.path) for route in COMPAT[name])
