"""Tokens of a text before it is encoded: hard bounds, calibrated intervals, sampled slices."""
