"""The workload: inputs sampled, read, and counted by tokenizers in one pass."""
