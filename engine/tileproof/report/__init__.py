"""Reports: the outcome of a check as values, and one module for each format that they are written in."""
