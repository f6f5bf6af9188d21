"""The reference pages as data: builtins and intrinsics in both directions, and packed words as they are shown."""
