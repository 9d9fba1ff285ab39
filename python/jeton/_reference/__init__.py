"""Slow, readable twins of the core's algorithms, to learn from and to test against.

Each file teaches one algorithm in the plainest form that gives the right answer, with worked
examples that a test runs:

``bpe``
    Byte-pair encoding: encoding by rank (as tiktoken does), encoding by a list of merges (as
    ``tokenizer.json`` files say it), and training by counting every pair anew for each merge,
    with Hugging Face's rule for ties.
``model_inputs``
    What a model takes: truncation, windows that overlap, templates for one text and two, padding.
``split``
    What a split pattern does: the one of GPT-2 written out by hand, one function for each of its
    alternatives, and the category of Unicode that each of them looks for.

Left out are speed (everything is quadratic or worse, and training recounts the whole corpus), files
and their formats, special tokens, offsets, threads, and other split patterns. Nothing outside the
tests imports this package; for real work use ``jeton.load`` and ``jeton.train``.
"""

from __future__ import annotations
