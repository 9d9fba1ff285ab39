"""Beginnings that documents share: what a prompt cache can serve.

Sorted texts hold all shared prefixes between neighbours. From the lengths of the common prefixes of
neighbours follows the tree of all prefixes that two or more documents share, exactly, in the order
of sorting (O(n log n) comparisons of texts) and linear after that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from jeton._core import TextBatch, Tokenizer

MAX_PREFIX_CHARS = 1 << 20
"""Characters of a document that are compared: a million is beyond what contexts hold."""

MAX_PREFIXES = 256
"""Prefixes that are kept, those that hold the most repeated characters. Others are counted with the
shorter prefix that they go on from, so nothing is counted twice and little is lost."""

MIN_OWN_CHARS = 256
"""Characters by which a prefix goes on from another to be one of its own: about 64 tokens, less
than what any provider caches by itself. Chance makes the next words of some requests equal."""

_DIGIT = re.compile(r"\d")
_ZEROS = str.maketrans("123456789", "0" * 9)
# In any identifier; it begins with a digit, not with what stands in front: far faster to find.
_MAYBE_IDENTIFIER = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}-|[0-9a-fA-F]{8})")
_IDENTIFIER = re.compile(
    r"(?<![\w-])(?:[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    r"|(?=[0-9a-fA-F]{0,12}\d)[0-9a-fA-F]{16,64})(?![\w-])"
)


@dataclass(frozen=True, slots=True)
class SharedPrefix:
    """A beginning that documents share, and that not all of them share any further.

    Attributes:
        n_chars: Its length in code points.
        n_tokens: Its length in tokens.
        n_own_tokens: Tokens beyond the longest kept prefix that it goes on from.
        n_documents: Documents that begin with it.
        parent: Index of the prefix that it goes on from; -1: none. Parents come first.
        documents: Indices of the documents, in sorted order of their texts.
    """

    n_chars: int
    n_tokens: int
    n_own_tokens: int
    n_documents: int
    parent: int
    documents: tuple[int, ...]


def common_prefix_chars(first: str, second: str) -> int:
    """How many code points two texts have in common at their beginnings."""
    low, high = 0, min(len(first), len(second))
    # Doubling, then halving: slices compare at the speed of memory, and unequal texts differ early.
    step = 64
    while low < high:
        end = min(low + step, high)
        if first[low:end] == second[low:end]:
            low, step = end, step * 2
        elif end - low == 1:
            break
        else:
            high, step = end - 1, max(1, (end - low) // 2)
    return low


def shared_beginnings(texts: Sequence[str], *, min_documents: int) -> list[int]:
    """How many code points of each text's beginning so many texts share; 0: none.

    Digits and identifiers are taken for equal: a date in a prompt does not make it another one.
    """
    masked = [mask_values(text[:MAX_PREFIX_CHARS]) for text in texts]
    order = sorted(range(len(masked)), key=masked.__getitem__)
    common = [common_prefix_chars(masked[a], masked[b]) for a, b in pairwise(order)]
    shared = [0] * len(texts)
    width = max(1, min_documents - 1)
    for first in range(len(common) - width + 1):
        n_chars = min(common[first : first + width])
        for place in range(first, first + width + 1):
            shared[order[place]] = max(shared[order[place]], n_chars)
    return shared


def mask_values(text: str) -> str:
    """The text with digits and identifiers as zeros; every character stays where it is."""
    if _MAYBE_IDENTIFIER.search(text):
        text = _IDENTIFIER.sub(lambda match: "0" * len(match.group()), text)
    return text.translate(_ZEROS) if text.isascii() else _DIGIT.sub("0", text)


@dataclass(slots=True)
class _Node:
    n_chars: int
    first: int  # in sorted order
    last: int
    parent: int = -1


def shared_prefixes(
    texts: Sequence[str],
    tokenizer: Tokenizer,
    *,
    min_chars: int,
    originals: Sequence[str] | None = None,
    copies: Sequence[int] | None = None,
) -> tuple[SharedPrefix, ...]:
    """The tree of prefixes of at least ``min_chars`` that two or more documents share.

    Args:
        texts: The documents as they are compared.
        tokenizer: Counts the prefixes.
        min_chars: Shorter prefixes are not looked for.
        originals: The documents as they are counted, where ``texts`` are masked ones of the same
            lengths.
        copies: How many documents each text stands for; None: one each.

    Returns:
        Parents before children. Their ``n_own_tokens x n_documents`` add up to the tokens that lie
        in shared beginnings.
    """
    cut = [text[:MAX_PREFIX_CHARS] for text in texts]
    order = sorted(range(len(cut)), key=cut.__getitem__)
    common = [common_prefix_chars(cut[a], cut[b]) for a, b in pairwise(order)]
    weights = [copies[index] if copies is not None else 1 for index in order]
    n_before = [0, *accumulate(weights)]
    nodes = _tree(common, max(1, min_chars))
    # A text that is sent again as it is shares all of itself.
    nodes += [
        _Node(len(cut[index]), place, place)
        for place, index in enumerate(order)
        if weights[place] > 1 and len(cut[index]) >= max(1, min_chars)
    ]
    nodes = _kept(_with_parents(nodes), n_before)
    counted = originals if originals is not None else texts
    own_texts = [
        counted[order[node.first]][
            nodes[node.parent].n_chars if node.parent >= 0 else 0 : node.n_chars
        ]
        for node in nodes
    ]
    n_own = tokenizer.count_batch(TextBatch.from_texts(own_texts))
    prefixes: list[SharedPrefix] = []
    for node, n_own_tokens in zip(nodes, n_own.tolist(), strict=True):
        above = prefixes[node.parent].n_tokens if node.parent >= 0 else 0
        prefixes.append(
            SharedPrefix(
                n_chars=node.n_chars,
                n_tokens=above + n_own_tokens,
                n_own_tokens=n_own_tokens,
                n_documents=n_before[node.last + 1] - n_before[node.first],
                parent=node.parent,
                documents=tuple(order[node.first : node.last + 1]),
            )
        )
    return tuple(prefixes)


def _tree(common: Sequence[int], min_chars: int) -> list[_Node]:
    """The intervals of neighbours with a common prefix."""
    nodes: list[_Node] = []
    open_nodes: list[int] = []
    for position in range(len(common) + 1):
        length = common[position] if position < len(common) else 0
        first = position
        while open_nodes and nodes[open_nodes[-1]].n_chars > length:
            closed = nodes[open_nodes.pop()]
            closed.last = position
            first = closed.first
        top = nodes[open_nodes[-1]].n_chars if open_nodes else 0
        if length >= min_chars and length > top:
            open_nodes.append(len(nodes))
            nodes.append(_Node(length, first, first))
    return nodes


def _with_parents(nodes: list[_Node]) -> list[_Node]:
    """Parents before children, each with the index of the one it goes on from."""
    nodes.sort(key=lambda node: (node.first, -node.last, node.n_chars))
    path: list[int] = []
    for index, node in enumerate(nodes):
        while path and nodes[path[-1]].last < node.first:
            path.pop()
        node.parent = path[-1] if path else -1
        path.append(index)
    return nodes


def _kept(nodes: list[_Node], n_before: Sequence[int]) -> list[_Node]:
    """The nodes with enough characters of their own; of many, those that hold the most."""
    nodes = _chosen(nodes, [True] * len(nodes))
    if len(nodes) > MAX_PREFIXES:
        weights = []
        for node in nodes:
            above = nodes[node.parent].n_chars if node.parent >= 0 else 0
            weights.append(
                (node.n_chars - above) * (n_before[node.last + 1] - n_before[node.first])
            )
        ranked = sorted(range(len(nodes)), key=lambda index: (-weights[index], index))
        largest = set(ranked[:MAX_PREFIXES])
        nodes = _chosen(nodes, [index in largest for index in range(len(nodes))])
    return nodes


def _chosen(nodes: Sequence[_Node], is_wanted: Sequence[bool]) -> list[_Node]:
    """The wanted nodes that go on far enough from the chosen one above them."""
    chosen: list[_Node] = []
    place = [-1] * len(nodes)  # of each node, or of the nearest chosen one above it
    for index, node in enumerate(nodes):
        above = place[node.parent] if node.parent >= 0 else -1
        n_own = node.n_chars - (chosen[above].n_chars if above >= 0 else 0)
        if is_wanted[index] and n_own >= MIN_OWN_CHARS:
            place[index] = len(chosen)
            chosen.append(_Node(node.n_chars, node.first, node.last, above))
        else:
            place[index] = above
    return chosen
