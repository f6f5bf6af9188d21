"""Checks of the rule base itself: each rule can hold and can fail, words are read back, contracts are compared."""
