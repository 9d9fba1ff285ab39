"""Tokens of a text before it is encoded.

Hard bounds from its length, intervals from a calibrated model, and from a sampled slice.
"""
