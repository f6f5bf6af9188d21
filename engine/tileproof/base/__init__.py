"""What every room stands on: records, texts and places in them, diagnostics, verdicts, the cache, the data folders."""
