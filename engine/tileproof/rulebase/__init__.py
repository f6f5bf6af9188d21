"""The rule files as values: what they declare, how they are read and resolved, and how they explain themselves."""
