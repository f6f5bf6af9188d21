"""MLIR as text: tokens, the scanner that cuts operations, the module, scopes, signatures and type trees."""
