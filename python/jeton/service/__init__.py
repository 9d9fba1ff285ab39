"""The HTTP service: counts, ids, chunks and comparisons for programs in any language.

`create_app` makes an ASGI application of its settings; `jeton serve` runs it. The extra ``service``
has what it needs.

    from jeton.service import ServiceSettings, create_app

    app = create_app(ServiceSettings(tokenizers={"main": "o200k_base"}))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton._lazy import lazy_names

if TYPE_CHECKING:
    from jeton.service.application import create_app
    from jeton.service.settings import ServiceLimits, ServiceSettings

__all__ = ["ServiceLimits", "ServiceSettings", "create_app"]

_LAZY = {
    "ServiceLimits": "jeton.service.settings",
    "ServiceSettings": "jeton.service.settings",
    "create_app": "jeton.service.application",
}

__getattr__, __dir__ = lazy_names(__name__, _LAZY)
