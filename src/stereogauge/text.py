"""How numbers, shares and lists are written: one rule for tables, sentences, pages and files."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

GAP = "–"


def number_text(value: float, digits: int = 3) -> str:
    """So many significant digits, more before the point; an en dash where nothing was measured.

    Rounded first, so that 9.996 has as many digits as 10.0, and half away from zero, as a browser rounds: the page's
    own code (`format.js`) follows the same rule. Below 0.001 and from 100 000 on with an exponent.

    >>> [number_text(value) for value in (9.996, 0, 123.4, 12.25, 2.5e-7, float("nan"))]
    ['10.0', '0.00', '123', '12.3', '2.50e-7', '–']
    """
    if math.isnan(value):
        return GAP
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    exact = Decimal(float(value))
    rounded = _rounded(exact, digits - 1 - exact.adjusted()) if value else exact
    if rounded and not Decimal("0.001") <= abs(rounded) < 100_000:
        return f"{rounded:.{digits - 1}e}".replace("e+", "e")
    decimals = digits - 1 - rounded.adjusted() if rounded else digits - 1
    return str(_rounded(exact, max(0, min(decimals, digits + 2))))


def _rounded(value: Decimal, decimals: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


SMALLEST = 1e-4


def p_text(value: float) -> str:
    """A p-value in words; one that is rounded to nothing is still not 0.

    >>> p_text(0.0312), p_text(0.0)
    ('p = 0.031', 'p < 0.0001')
    """
    return f"p = {value:.2g}" if value >= SMALLEST else f"p < {SMALLEST:.4f}"
