"""Reproduction of the papers behind Stereogauge: their tables and figures. One module per paper; `run` does all."""
