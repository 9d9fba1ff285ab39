"""Facts that the checks know about texts: pure functions on strings, counts and a tokenizer.

A *rewrite* says what a text would be without a waste (`rewriting.Rewrite`), and what it is worth is
measured by encoding the rewritten text, never guessed from its bytes. Nothing here knows reports,
prices or thresholds of findings. Every function is linear in the length of its texts, hostile texts
included.
"""
