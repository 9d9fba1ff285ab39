"""Measurements of an audit: figures from counts, samples and logs."""
