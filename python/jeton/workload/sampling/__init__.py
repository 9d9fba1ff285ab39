"""Samples of a workload: documents drawn without chance, and a part that stands for the whole."""
