"""The Numba code, and nothing else."""
