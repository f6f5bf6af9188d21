"""The language of ``tileproof layout``: expressions over layouts, and their values."""
