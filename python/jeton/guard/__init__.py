"""Text and vocabularies that lie.

``scan`` tells what a text hides, ``enforce`` changes or rejects it by a ``Policy``. ``check_ids``
looks at ids that come from a client, ``check_vocabulary`` at a tokenizer and its model. Decoded
text is shown, never executed, and nothing is sent anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton._lazy import lazy_names

if TYPE_CHECKING:
    from jeton.guard.cleaning import without_waste
    from jeton.guard.encoding import IdCheck, check_ids, encode_guarded
    from jeton.guard.files import Fixer, ScanReport, scan_files
    from jeton.guard.policy import EnforcedText, Policy, enforce
    from jeton.guard.scanning import scan, unicode_version
    from jeton.guard.verdict import KINDS, GuardLevel, TextFinding, Verdict
    from jeton.guard.vocabulary import VocabularyReport, check_vocabulary

__all__ = [
    "KINDS",
    "EnforcedText",
    "Fixer",
    "GuardLevel",
    "IdCheck",
    "Policy",
    "ScanReport",
    "TextFinding",
    "Verdict",
    "VocabularyReport",
    "check_ids",
    "check_vocabulary",
    "encode_guarded",
    "enforce",
    "scan",
    "scan_files",
    "unicode_version",
    "without_waste",
]

_HOMES = {
    "KINDS": "jeton.guard.verdict",
    "EnforcedText": "jeton.guard.policy",
    "Fixer": "jeton.guard.files",
    "IdCheck": "jeton.guard.encoding",
    "GuardLevel": "jeton.guard.verdict",
    "Policy": "jeton.guard.policy",
    "ScanReport": "jeton.guard.files",
    "TextFinding": "jeton.guard.verdict",
    "Verdict": "jeton.guard.verdict",
    "VocabularyReport": "jeton.guard.vocabulary",
    "check_ids": "jeton.guard.encoding",
    "check_vocabulary": "jeton.guard.vocabulary",
    "encode_guarded": "jeton.guard.encoding",
    "enforce": "jeton.guard.policy",
    "scan": "jeton.guard.scanning",
    "scan_files": "jeton.guard.files",
    "unicode_version": "jeton.guard.scanning",
    "without_waste": "jeton.guard.cleaning",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
