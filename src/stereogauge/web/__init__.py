"""The interactive site of a store: a typed JSON API, and a page of hand-written modules that uses nothing else."""
