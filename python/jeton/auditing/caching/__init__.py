"""Prompt caches as they were used: each request replayed by the provider's rules, and judged."""
