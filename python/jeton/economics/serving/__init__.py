"""Serving a model: memory, compute, time, energy, and its cost on own GPUs."""
