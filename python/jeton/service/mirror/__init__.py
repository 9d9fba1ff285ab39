"""The mirror: live requests go to one endpoint, and a share of them also to another.

`plan` reads what is compared, `usage` finds tokens in answers, `book` judges stages with the rules
of ``jeton adapt shadow``, `forwarding` moves the bytes.
"""

from __future__ import annotations
