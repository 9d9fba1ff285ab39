"""Tokenizers of a domain's own against published ones: the figures of domain-tokenizers.md.

``texts`` parts the corpora so that nothing alike is on two sides, ``recipes`` trains, ``work``
keeps what was made, ``tokens``, ``steps``, ``terms``, ``costs`` and ``agreement`` measure one thing
each. ``python -m studies.domain_tokenizers`` runs all; the page is made by ``studies.claims``.
"""
