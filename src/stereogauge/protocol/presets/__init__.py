"""Protocols that ship with the package."""
