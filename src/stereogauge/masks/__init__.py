"""Regions: named pixel sets of a scene, as masks."""
