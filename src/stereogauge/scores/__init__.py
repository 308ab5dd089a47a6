"""Scores: columns, single scores and cells, tables, cubes, aggregation over scenes, selections."""
