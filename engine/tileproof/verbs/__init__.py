"""What tileproof does, one module a verb: ``tileproof.check`` is the function, ``tileproof.verbs.check`` its module."""
