"""The tables and figures of the papers behind Stereogauge, done again. One module a paper; `run` redoes them."""
