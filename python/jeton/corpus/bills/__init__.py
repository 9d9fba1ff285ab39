"""Bills and usage exports of providers: CSV, JSON and JSON Lines."""
