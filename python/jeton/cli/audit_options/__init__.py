"""The options of ``jeton audit``, declared by group."""
