"""Bills against records, counts of providers, quotas."""
