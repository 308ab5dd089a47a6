"""Models that turn scores into an order, and how sure that order is."""
