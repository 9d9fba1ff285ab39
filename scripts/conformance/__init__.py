"""The comparison with the references' ids: golden sets, other projects' ids, whole corpora."""
