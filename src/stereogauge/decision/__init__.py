"""From scores to a decision: which algorithm to take, why, and what would change it."""
