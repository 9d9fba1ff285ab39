"""Texts without a friendly boundary, at growing sizes: time, memory, and how both grow."""
