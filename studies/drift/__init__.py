"""Drift of a stream of requests: false alarms, delays and causes, measured on real texts."""
