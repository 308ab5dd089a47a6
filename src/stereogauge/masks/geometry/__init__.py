"""The geometry-aware pixel sets of a scene: discontinuities and their bands, planes, fine structures."""
