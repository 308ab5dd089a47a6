"""How a p-value is printed."""

from __future__ import annotations

SMALLEST = 1e-4


def p_text(value: float) -> str:
    """A p-value in words; one that is rounded to nothing is still not 0.

    >>> p_text(0.0312), p_text(0.0)
    ('p = 0.031', 'p < 0.0001')
    """
    return f"p = {value:.2g}" if value >= SMALLEST else f"p < {SMALLEST:.4f}"
