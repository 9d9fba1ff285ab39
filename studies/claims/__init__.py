"""The claims that circulate about tokenization, tested: claims.md and docs/studies/case-studies/.

Three steps, each alone: ``measuring`` makes figures from the catalog and from the shared data and
puts them into ``docs/studies/figures/*.json``; ``claim_list`` says which verdict follows from which
figures; ``pages`` writes the pages from templates that hold the prose. ``python -m studies.claims``
runs all.
"""
