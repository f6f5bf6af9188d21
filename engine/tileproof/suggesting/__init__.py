"""Legal configurations, layouts of operands, and the nearest repair of what is illegal."""
