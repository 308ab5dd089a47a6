"""The evaluation models, one module each; `stereogauge.ranking.model` says what a model is."""
