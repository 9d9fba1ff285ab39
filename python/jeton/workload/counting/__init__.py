"""Counts of a workload: one pass over its portions, mergeable between shards."""
