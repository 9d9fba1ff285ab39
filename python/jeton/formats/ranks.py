"""Rank files: the published ones are known by their content, others need a split pattern."""

from __future__ import annotations

from pathlib import Path

from jeton import _published
from jeton._core import (
    ReadRanks,
    Tokenizer,
    from_hf_json,
    from_tiktoken,
    published_patterns,
    sha256,
)
from jeton._published import PublishedVocabulary
from jeton.errors import FormatError
from jeton.formats.detection import FileFormat
from jeton.formats.names import name_of_file
from jeton.formats.options import LoadOptions, Reference


def load_ranks(data: bytes, file: Path, *, options: LoadOptions, name: str) -> Tokenizer:
    """The tokenizer of a rank file.

    Raises:
        FormatError: It is damaged, or no pattern is known for it.
    """
    pattern, special_tokens = options.pattern, options.special_tokens
    if pattern is not None:
        tokenizer = from_tiktoken(
            data, pattern=pattern, special_tokens=special_tokens, name=name, path=str(file)
        )
    else:
        # Its digest, which tells whose it is, is made while it is read.
        ranks = ReadRanks(data)
        published = _published_for(data, ranks, file, name=name)
        tokenizer = ranks.tokenizer(
            pattern=published.pattern,
            special_tokens=published.special_tokens if special_tokens is None else special_tokens,
            normalizer=published.normalizer,
            name=name,
            path=str(file),
        )
    return as_reference(tokenizer, options.reference, name=name)


def as_reference(
    tokenizer: Tokenizer, reference: Reference | None, *, name: str | None
) -> Tokenizer:
    """A tokenizer of ranks as another library runs it.

    ``"hf"``: what ``tokenizers`` makes of the tokenizer.json that these ranks are written as: the
    ranks become a list of merges, and where a special token in the text is not allowed, the next
    one is looked for behind it and not within it.

    Raises:
        VocabularyError: The vocabulary cannot be written as a tokenizer.json.
    """
    if reference != "hf":
        return tokenizer
    return from_hf_json(tokenizer.to_hf_json(), name=name)


def _published_for(data: bytes, ranks: ReadRanks, file: Path, *, name: str) -> PublishedVocabulary:
    """The published vocabulary that a rank file is."""
    candidates = _published.vocabularies_of_file(ranks.sha256)
    if not candidates:
        # Equal ranks with other line ends, or without the last one.
        lines = [line.strip() for line in data.splitlines()]
        tidy = b"".join(line + b"\n" for line in lines if line)
        candidates = _published.vocabularies_of_file(sha256(tidy))
    if candidates:
        names = (name, name_of_file(file))
        return next((v for wanted in names for v in candidates if v.name == wanted), candidates[0])
    published = _published.published_vocabularies()
    known = published.get(name) or published.get(name_of_file(file))
    if known is None:
        raise FormatError(
            f"{file} is a rank file without a known split pattern\n"
            f"hint: pass pattern=, one of {', '.join(sorted(published_patterns()))}, "
            "or a regular expression",
            path=str(file),
            format=FileFormat.TIKTOKEN.value,
        )
    # Named like a published vocabulary, but something else: damaged, or cut short. The core
    # says best what is wrong with a line; where every line is fine, the content is still not
    # what the name promises, and its ids would be wrong without a sign.
    ranks.tokenizer(pattern=known.pattern, path=str(file))
    n_ranks = sum(1 for line in data.splitlines() if line.strip())
    raise FormatError(
        f"{file} is not the published {known.name}: it has {n_ranks:,} ranks and another SHA-256; "
        f"expected are {known.rank_file.n_ranks:,} ranks and {known.rank_file.sha256[:16]}...\n"
        f"hint: fetch or copy it again; pattern={known.pattern!r} loads it as it is",
        path=str(file),
        format=FileFormat.TIKTOKEN.value,
    )
