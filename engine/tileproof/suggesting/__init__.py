"""Legal configurations, layouts of operands, and the nearest repair of an illegal one."""
