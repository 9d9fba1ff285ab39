"""Savings as replays: the requests after a remedy, tokenized and priced again."""
