"""Checks that rewrite the text: each fires on a text and not on its rewritten twin.

The twin is written out by hand, so the figure of a finding is compared with tokens of a text that
the check did not make.
"""

from __future__ import annotations

import base64
import json
import random
import unicodedata

import pytest

from jeton._core import Tokenizer
from jeton.findings import Basis
from tests.auditing.checks.findings_of import PRICED, found, only, yearly_usd
from tests.auditing.conftest import EvidenceOf

PROSE = "The statement is executed when the condition is true, and the value is returned. "
NUMBERS = random.Random(20261121)


def data(n_bytes: int) -> str:
    return base64.b64encode(NUMBERS.randbytes(n_bytes)).decode()


BLOB, HEX = data(300), NUMBERS.randbytes(100).hex()
RECORDS = [{"name": f"item {i}", "quantity": i, "is_open": i % 2 == 0} for i in range(12)]
COMPACT = json.dumps(RECORDS, separators=(",", ":"))
TABLE = json.dumps(
    {"keys": list(RECORDS[0]), "rows": [list(record.values()) for record in RECORDS]},
    separators=(",", ":"),
)
GREEK = "Η ταχύτητα του φωτός στο κενό είναι σταθερή. "
ACCENTS = "Übermäßige Größenänderungen führen zu Verzögerungen in späteren Läufen. "
UUIDS = [
    "123e4567-e89b-12d3-a456-426614174000",
    "9f1b8a52-0c3e-4d77-9d55-6fd1c02a7b11",
]
URL = "https://example.org/documentation/reference/statements/compound-statements-and-more.html"
QUERY = "?utm_source=newsletter&utm_medium=email&session=8f3a9c0d7e6b5a41&ref=front-page"
HTML_NOISY = (
    '<div class="col-md-6 px-4" style="margin:0"><!-- the text --><p class="lead">The statement</p>'
    '<ul class="list"><li class="item">one</li><li class="item">two</li></ul>'
    "<script>var x = 1;</script></div>"
)
HTML_PLAIN = "<div><p>The statement</p><ul><li>one</li><li>two</li></ul></div>"

PAIRS = {
    "encoded-data": (
        PROSE * 3 + BLOB + "\nand " + HEX + " end",
        PROSE * 3 + "[data]\nand [data] end",
    ),
    "escaped-characters": (
        json.dumps({"text": GREEK}) + "\nthe &lt;b&gt; &amp; &quot;c&quot;",
        json.dumps({"text": GREEK}, ensure_ascii=False) + '\nthe <b> & "c"',
    ),
    "unicode-form": (unicodedata.normalize("NFD", ACCENTS), ACCENTS),
    "invisible-characters": (
        "The state\u00adment is exe\u00adcuted\u200b when\ufeff true.",
        "The statement is executed when true.",
    ),
    "compatibility-characters": (
        "The\u00a0\ufb01rst \U0001d430\U0001d428\U0001d42b\U0001d41d is \uff11\uff12.",
        "The first word is 12.",
    ),
    "mojibake": (
        ACCENTS.encode().decode("cp1252", errors="replace").replace("\ufffd", ""),
        "",
    ),
    "json-layout": (PROSE + "\n" + json.dumps(RECORDS, indent=4), PROSE + "\n" + COMPACT),
    "markup": (HTML_NOISY * 3, HTML_PLAIN * 3),
    "separator-runs": (
        "Title\n" + "~" * 70 + "\nChapter" + ". " * 40 + "12\n",
        "Title\n~~~\nChapter. . . 12\n",
    ),
    "line-ends": ("one line\r\nand another\r\n" * 5, "one line\nand another\n" * 5),
    "indentation": (
        "if x:\n" + "    for y in z:\n        return\n" * 4,
        "if x:\n" + " for y in z:\n  return\n" * 4,
    ),
    "extraction-leftovers": (
        "It is , you know , true . They do n't say ( why ) , and it 's over . The exam-\nple is.",
        "It is, you know, true. They don't say (why), and it's over. The example is.",
    ),
    "upper-case": (
        "THE STATEMENT IS EXECUTED WHEN THE CONDITION IS TRUE. " + PROSE,
        "The statement is executed when the condition is true. " + PROSE,
    ),
    "number-precision": (
        " ".join(f"{NUMBERS.random():.6f}{NUMBERS.randrange(10**9, 10**10)}" for _ in range(1)),
        "",
    ),
    "opaque-identifiers": (
        f"move {UUIDS[0]} to {UUIDS[1]} and {UUIDS[0]} back",
        "move id1 to id2 and id1 back",
    ),
    "long-urls": (PROSE + URL + QUERY, PROSE + URL),
    "repeated-passages": (
        f"{PROSE * 2}\nQuestion?\n> {PROSE * 2}\nAnswer.",
        f"{PROSE * 2}\nQuestion?\nAnswer.",
    ),
}
# Two whose text depends on what comes out of it.
PAIRS["mojibake"] = (
    "the caf\u00c3\u00a9 and the na\u00c3\u00afve \u00e2\u20ac\u201c so",
    "the café and the naïve – so",
)
PAIRS["number-precision"] = (
    "[0.123456789012, -3.14159265358979, 2.5]",
    "[0.123456, -3.141592, 2.5]",
)


@pytest.mark.parametrize("check", PAIRS)
def test_it_fires_on_the_text_and_not_on_its_twin(
    check: str, evidence_of: EvidenceOf, good: Tokenizer
) -> None:
    dirty, clean = PAIRS[check]
    texts = [dirty, PROSE]
    evidence = evidence_of(texts, tokenizers=[good], **PRICED)
    finding = only(evidence, check)
    n_saved = good.count(dirty) - good.count(clean)
    assert n_saved > 0
    assert finding.figure.value == n_saved
    assert finding.figure.basis is Basis.EXACT
    assert finding.saving_usd_per_year == yearly_usd(n_saved, len(texts))
    share = n_saved / (good.count(dirty) + good.count(PROSE))
    assert finding.evidence["share"] == pytest.approx(share)
    assert not found(evidence_of([clean, PROSE], tokenizers=[good]), check)


@pytest.mark.parametrize("check", PAIRS)
def test_it_is_silent_where_little_is_to_be_saved(
    check: str, evidence_of: EvidenceOf, good: Tokenizer
) -> None:
    dirty, clean = PAIRS[check]
    n_saved = good.count(dirty) - good.count(clean)
    n_more = round(n_saved / 0.0009 / good.count(PROSE)) + 1
    texts = [dirty, *([PROSE] * n_more)]
    assert not found(evidence_of(texts, tokenizers=[good]), check)


def test_json_repeated_keys(evidence_of: EvidenceOf, good: Tokenizer) -> None:
    finding = only(evidence_of([json.dumps(RECORDS)], tokenizers=[good]), "json-repeated-keys")
    # Against compact JSON: the layout is the finding of another check.
    assert finding.figure.value == good.count(COMPACT) - good.count(TABLE)
    lines = "\n".join(json.dumps(record, separators=(",", ":")) for record in RECORDS)
    finding = only(evidence_of([lines], tokenizers=[good]), "json-repeated-keys")
    assert finding.figure.value == good.count(lines) - good.count(TABLE)
    assert not found(evidence_of([TABLE], tokenizers=[good]), "json-repeated-keys")
    mixed = json.dumps([{f"key{i}": i} for i in range(12)])
    assert not found(evidence_of([mixed], tokenizers=[good]), "json-repeated-keys")


LOOKALIKES = {
    "encoded-data": "AbstractSingletonProxyFactoryBeanWithNamesThatGoOnAndOn/path/to/the/file/"
    "called/tokenization_auto_module_long.py and " + "ACGT" * 40 + " and " + "=" * 90,
    "escaped-characters": r"a path C:\users\new, R&D, AT&T; 100%, 20%20 and a regex \d+\.\u",
    "unicode-form": "क्षत्रिय ไทย עברית " + ACCENTS,
    "invisible-characters": "\U0001f468\u200d\U0001f469\u200d\U0001f467 می\u200cخواهم \u200fعربي",
    "compatibility-characters": "価格は\u3000三千円です\u3002\uff08税込\uff09",
    "mojibake": "São Paulo, Île-de-France, ÂME, Größe, Ærø, Ångström, Ðà Nẵng",
    "json-layout": "the set {a, b, c} and the list [1, 2, 3]\n{not json at all, but a brace}\n",
    "markup": "if a < b and c > d: x = Map<String, List<T>>(); the tag <b> is bold in HTML",
    "indentation": "a table\n  x\n   y\n    z\n     w\n" * 4,
    "extraction-leftovers": "A well-known ex-husband... wait , what? a b c d. Dr. No, v. 1.2.",
    "upper-case": "NASA and the FBI met the CEO of IBM. Then WHO and UNESCO left.",
    "number-precision": "3.14159 1.000000 version 1.2.3.4567890123 2026-11-21 192.168.100.200",
    "opaque-identifiers": "defaced, 20261121, 555-0199, 0x1F, deadbeef, 1234567890123456",
    "long-urls": "see https://example.org/a?b=c#d and https://docs.python.org/3/library/re.html#x",
    "separator-runs": "---\n### title\n... and so on -- see ***\n|---|---|\n",
    "line-ends": "one line\nand another\n" * 5,
    "repeated-passages": "yes\nno\nyes\nno\n}\n}\n}\n" * 9,
}


@pytest.mark.parametrize("check", LOOKALIKES)
def test_it_is_silent_on_what_only_looks_like_it(
    check: str, evidence_of: EvidenceOf, good: Tokenizer
) -> None:
    assert not found(evidence_of([LOOKALIKES[check]], tokenizers=[good]), check)
