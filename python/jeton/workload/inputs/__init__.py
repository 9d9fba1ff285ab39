"""Inputs of a workload: documents and request logs as portions of text."""
