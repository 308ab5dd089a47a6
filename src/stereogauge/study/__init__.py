"""How metrics behave: maps damaged in controlled ways, response curves, sensitivity, robustness to lighting."""
