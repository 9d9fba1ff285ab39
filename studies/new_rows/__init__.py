"""Bits per byte of a real model with new tokens, by how their rows are made.

Each figure compares with the old model on the same bytes, before training and after a little.
"""
