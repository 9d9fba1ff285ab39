"""Words on a page: escaped, with code that a click copies."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from jeton.report.visible import visible

_CODE = re.compile(r"`([^`\n]+)`")


def prose(words: str) -> Markup:
    """Foreign or own words for a page; what stands in backquotes is code, which a click copies.

    The backquotes stay in the text, where a reader of the page's figures finds them, and are not
    drawn.
    """
    tick = Markup('<span class="tick">`</span>')
    parts = _CODE.split(visible(words))
    return Markup("").join(
        Markup("<code>{}{}{}</code>").format(tick, part, tick) if n % 2 else escape(part)
        for n, part in enumerate(parts)
    )
