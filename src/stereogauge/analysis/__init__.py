"""Relations between metrics, regions and orders: what a score adds to another one, and how stable a choice is."""
