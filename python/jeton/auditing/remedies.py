"""The remedies that findings propose: what each is called, takes and risks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

FLAG = "turn on a flag"
LINES = "a few lines of code"
SOURCE = "change the step that makes the text"
PROMPT = "change the prompt and try it on your own cases"
SERVICE = "run a cache of answers"
CHUNKING = "cut documents anew and measure retrieval"
EMBEDDINGS = "train embeddings"
MODEL = "train or change the model"

NONE = "none: the text means the same"
LOW = "low: the model sees the same text in another form"
LOSES = "low: what is taken out is lost"
ANSWERS = "medium: answers may change"
SAME = "none: answers stay the same"
FRESH = "medium: an answer may be out of date"
LIKE = "high: requests that look alike may want other answers"
QUALITY = "high: the model has to be evaluated again"


@dataclass(frozen=True, slots=True)
class RemedyFacts:
    """A remedy in a few words.

    Attributes:
        name: Name in charts and tables.
        effort: Effort of carrying it out, from "turn on a flag" to "train or change the model".
        risk: Risk, in words.
        own: True if it changes a model, which has to be one's own.
    """

    name: str
    effort: str
    risk: str
    own: bool = False

    @property
    def needs_own_model(self) -> bool:
        """True if only the owner of a model can do it."""
        return self.own


REMEDIES: Mapping[str, RemedyFacts] = MappingProxyType(
    {
        "tokenizer-foreign": RemedyFacts(
            "A tokenizer that fits the text", MODEL, QUALITY, own=True
        ),
        "domain-foreign": RemedyFacts("Another tokenizer for one domain", MODEL, QUALITY, own=True),
        "bytes-fallback": RemedyFacts(
            "Characters of the text in the vocabulary", EMBEDDINGS, QUALITY, own=True
        ),
        "term-shatter": RemedyFacts(
            "Add your terms to the vocabulary", EMBEDDINGS, QUALITY, own=True
        ),
        "terms-worth-adding": RemedyFacts(
            "Add frequent words to the vocabulary", EMBEDDINGS, QUALITY, own=True
        ),
        "vocabulary-unused": RemedyFacts("Prune the vocabulary", MODEL, QUALITY, own=True),
        "vocabulary-too-large": RemedyFacts("A smaller vocabulary", MODEL, QUALITY, own=True),
        "vocabulary-too-small": RemedyFacts("A larger vocabulary", MODEL, QUALITY, own=True),
        "prompt-prefix-cacheable": RemedyFacts(
            "Cache the opening text that requests share", FLAG, "none: answers stay the same"
        ),
        "prompt-prefix-volatile": RemedyFacts(
            "Move what changes to the end and cache the rest", PROMPT, ANSWERS
        ),
        **{
            id: RemedyFacts(name, effort, SAME)
            for id, name, effort in (
                ("cache-writes-unread", "Cache only prefixes that are read again", FLAG),
                ("cache-changed", "Keep the cached prefix byte for byte the same", LINES),
                ("cache-expired", "Keep the cache for an hour", FLAG),
                ("cache-below-minimum", "Lengthen the cached prefix to the minimum", PROMPT),
                ("cache-no-mark", "Mark the prefix that is sent again", LINES),
                ("cache-mark-late", "Mark the shared beginning, not the changing end", LINES),
                ("cache-look-back", "Set marks at most 20 blocks apart", LINES),
                ("cache-concurrent", "Send the first request, then the others", LINES),
                ("cache-hour-unearned", "Write for 5 minutes, not an hour", FLAG),
                ("cache-provider", "Ask the provider about lost entries", FLAG),
                ("agent-retries", "Wait longer before a request is sent again", LINES),
            )
        },
        "cache-switched": RemedyFacts("Keep one model for a session", LINES, ANSWERS),
        "agent-results-carried": RemedyFacts("Keep summaries of large results", LINES, ANSWERS),
        "agent-pictures-carried": RemedyFacts("Send each picture once", LINES, ANSWERS),
        "agent-tools-unused": RemedyFacts("Declare only tools that are called", LINES, ANSWERS),
        "boilerplate": RemedyFacts("Remove repeated lines", LINES, LOSES),
        "repeated-passages": RemedyFacts("Send each passage once", LINES, NONE),
        "near-duplicate-documents": RemedyFacts("Send near copies once", SERVICE, LIKE),
        "overlapping-documents": RemedyFacts("Send overlapping text once", CHUNKING, ANSWERS),
        "duplicate-documents": RemedyFacts("Answer repeated requests from a cache", SERVICE, FRESH),
        "whitespace-runs": RemedyFacts("Remove unneeded spaces and blank lines", LINES, LOW),
        "separator-runs": RemedyFacts("Shorten decorative lines", LINES, LOW),
        "line-ends": RemedyFacts("Write line ends as one character", LINES, NONE),
        "indentation": RemedyFacts("Use narrower indentation", LINES, LOW),
        "json-layout": RemedyFacts("Write compact JSON", LINES, NONE),
        "json-repeated-keys": RemedyFacts("Send JSON records as a table", PROMPT, ANSWERS),
        "markup": RemedyFacts("Remove HTML that only shapes the page", LINES, LOSES),
        "encoded-data": RemedyFacts("Remove base64 and other encoded data", SOURCE, LOSES),
        "escaped-characters": RemedyFacts("Write characters instead of escapes", LINES, NONE),
        "unicode-form": RemedyFacts("Combine accents (NFC)", LINES, NONE),
        "invisible-characters": RemedyFacts("Remove invisible characters", LINES, LOW),
        "compatibility-characters": RemedyFacts("Replace unusual forms of characters", LINES, LOW),
        "mojibake": RemedyFacts(
            "Correct wrongly decoded text", SOURCE, "none: the text becomes right"
        ),
        "extraction-leftovers": RemedyFacts("Join text that was cut into pieces", SOURCE, LOW),
        "upper-case": RemedyFacts("Write running text in lower case", LINES, LOSES),
        "number-precision": RemedyFacts("Round numbers", LINES, LOSES),
        "opaque-identifiers": RemedyFacts("Shorten identifiers", LINES, LOW),
        "long-urls": RemedyFacts("Shorten web addresses", LINES, LOSES),
        "chunk-overlap": RemedyFacts("Overlap pieces less", CHUNKING, ANSWERS),
        "price-step": RemedyFacts("Keep prompts below the price step", PROMPT, ANSWERS),
        "output-long": RemedyFacts("Limit the length of answers", PROMPT, ANSWERS),
        "output-echo": RemedyFacts("Ask for the answer alone", PROMPT, ANSWERS),
        "reasoning-share": RemedyFacts("Reason less where it is easy", FLAG, ANSWERS),
        "preprocessing-growth": RemedyFacts("Leave out the step that adds tokens", SOURCE, ANSWERS),
        "padding-static": RemedyFacts("Pad by less", LINES, NONE),
        "padding-longest": RemedyFacts("Sort by length before batching", LINES, NONE),
    }
)
"""By the id of the finding that proposes the remedy."""


def remedy_facts(finding_id: str) -> RemedyFacts:
    """The facts of a finding's remedy; its id in words where it has none."""
    facts = REMEDIES.get(finding_id)
    return facts or RemedyFacts(finding_id.replace("-", " ").capitalize(), "", "")
