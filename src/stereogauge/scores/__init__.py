"""Scores, the middle of the house: one column, one score, one table, one cube, one aggregation, one selection."""
