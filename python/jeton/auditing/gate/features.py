"""Features of text and other causes of a change: stable names, and the words of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from jeton.auditing.gate.rewriting import STEPS

NUMBER, LENGTH, WORDING, FRAME = "number", "length", "wording", "frame"
"""Causes within text: blocks a request, characters a block, tokens a character, a chat's format."""

DOMAIN_MIX, LANGUAGE_MIX, TOKENIZER = "domain_mix", "language_mix", "tokenizer"
UNLOGGED, DOCUMENTS = "unlogged", "number_of_documents"

MODEL, PROVIDER, REGION, TARIFF = "model", "provider", "region", "tariff"
PRICE_STEP, CACHE_LIFETIME = "price_step", "cache_lifetime"
OF_PRICE = (MODEL, PROVIDER, REGION, TARIFF, PRICE_STEP, CACHE_LIFETIME)
"""Causes of a rate by what decides it, in the order of `side.GatePriceKey`."""

LIST_PRICE, CACHE, FEES, TRAFFIC = "list_price", "cache", "fees", "traffic"

UNRESOLVED, CONTENT = "tokenizer_or_text", "content"
"""A tokenizer that cannot be told from the text; mix, length and wording together."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature in words.

    Attributes:
        label: Its name in sentences.
        says: An explanation for a reader who meets the name the first time.
        remedy: The remedy where it grew and nobody meant it to.
        check: The check of the audit that looks for it; empty where there is none.
    """

    label: str
    says: str
    remedy: str
    check: str = ""


FEATURES: Mapping[str, Feature] = MappingProxyType(
    {
        "unicode_form": Feature(
            "Unicode form",
            "letters and accents are separate characters (NFD)",
            "normalize to NFC before encoding: unicodedata.normalize('NFC', text)",
            "unicode-form",
        ),
        "mojibake": Feature(
            "wrong encoding (mojibake)",
            "UTF-8 was read as another encoding, so that 'é' became 'Ã©'",
            "find the reader with the wrong encoding and let it read UTF-8",
            "mojibake",
        ),
        "json_layout": Feature(
            "JSON layout",
            "JSON is indented, or has blanks after its signs",
            "write it compact: json.dumps(value, separators=(',', ':'))",
            "json-layout",
        ),
        "line_labels": Feature(
            "line numbers and time stamps",
            "each line begins with a number or a time",
            "take them out, unless the answer has to name lines",
        ),
        "cut_text": Feature(
            "text cut apart",
            "letters are spaced apart, or signs have spaces around them",
            "use the text from before that step, or join it again",
            "extraction-leftovers",
        ),
        "white_space": Feature(
            "white space",
            "runs of spaces, indentation, blank lines, tabs, line ends of two characters",
            "strip line ends, and keep one space and one blank line at most",
            "whitespace-runs",
        ),
        "invisible_characters": Feature(
            "invisible characters",
            "zero-width characters, soft hyphens, marks and controls",
            "take them out before encoding",
            "invisible-characters",
        ),
        "compatibility_forms": Feature(
            "compatibility forms and look-alikes",
            "full-width, styled or struck-out letters, ligatures, letters of another alphabet that "
            "look alike",
            "replace them by plain letters: unicodedata.normalize('NFKC', text)",
            "compatibility-characters",
        ),
        "encoded_data": Feature(
            "encoded data (base64, hexadecimal)",
            "text or files are written as base64, hexadecimal or a dump",
            "send the text itself, and take attachments out before the prompt is built",
            "encoded-data",
        ),
        "escaped_characters": Feature(
            "escaped characters",
            r"characters are written as escapes (\u00e9, \n, &eacute;, %C3%A9, \")",
            "decode before the prompt is built: json.dumps(value, ensure_ascii=False), "
            "html.unescape, urllib.parse.unquote",
            "escaped-characters",
        ),
        "letter_case": Feature(
            "letter case",
            "capital letters, for which a vocabulary has fewer words",
            "leave the case of the text as it was written",
            "upper-case",
        ),
        "separator_runs": Feature(
            "separator lines and runs of one sign",
            "lines of equal signs that only separate, and signs written many times (!!!!)",
            "shorten them to three signs",
            "separator-runs",
        ),
        "repeated_passages": Feature(
            "repeated passages",
            "passages, sentences or words stand in one document more than once",
            "send each passage once",
            "repeated-passages",
        ),
        "markup": Feature(
            "markup (HTML, XML, Markdown)",
            "the text is wrapped in tags, tables or signs of emphasis",
            "send plain text, with a table or a heading only where the answer needs it",
            "markup",
        ),
        "json_keys": Feature(
            "JSON and YAML keys and signs",
            "the text stands inside JSON or YAML: keys, quotes, brackets, numbers",
            "send the text itself, or tables as one header and rows",
            "json-repeated-keys",
        ),
        "chat_markers": Feature(
            "chat template markers",
            "markers of a chat template stand in the text (<|im_start|>, [INST])",
            "render the chat template once, where the request is sent",
            "special-lookalikes",
        ),
        "torn_words": Feature(
            "words torn apart",
            "hyphens stand at line ends, or spaces before signs",
            "use the text from before that step, or join it again",
            "extraction-leftovers",
        ),
        "opaque_values": Feature(
            "identifiers and long numbers",
            "UUIDs, digests, numbers with many decimals, queries of long addresses",
            "give identifiers short names within a request, round numbers, cut addresses",
            "opaque-identifiers",
        ),
        "shared_text": Feature(
            "text that documents share (system prompt, boilerplate)",
            "the same beginning, end or lines stand in many documents",
            "shorten it, or put it first and let a prompt cache serve it",
            "boilerplate",
        ),
        "line_breaks": Feature(
            "line breaks",
            "line ends stand where spaces stood",
            "join the lines of a paragraph before encoding",
            "whitespace-runs",
        ),
    }
)
"""Every feature by the name of its step."""

if tuple(FEATURES) != STEPS:
    raise AssertionError("every step has its words, in the same order")
