"""From facts to diagnostics: the target, messages and their places, suppressions, the registry of atoms."""
