"""The base of every room: records, texts and places in them, diagnostics, verdicts, the cache, the data folders."""
