"""Money of an audit: ledgers, bills, models, quotas."""
