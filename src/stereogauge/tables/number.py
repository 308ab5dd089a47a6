"""How a number is printed: one rule for every table, page and file."""

from __future__ import annotations

import math

GAP = "–"


def number_text(value: float, digits: int = 3) -> str:
    """So many significant digits, more before the point; an en dash where nothing was measured.

    Rounded first, so that 9.996 has as many digits as 10.0. Below 0.001 and from 100 000 on with an exponent. The
    page's own code (`format.js`) follows the same rule.

    >>> [number_text(value) for value in (9.996, 0, 123.4, 0.01234, 2.5e-7, float("nan"))]
    ['10.0', '0.00', '123', '0.0123', '2.50e-07', '–']
    """
    if math.isnan(value):
        return GAP
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    rounded = float(f"{value:.{digits}g}")
    if rounded != 0 and not 1e-3 <= abs(rounded) < 1e5:
        return f"{value:.{digits - 1}e}"
    decimals = digits - 1 - math.floor(math.log10(abs(rounded))) if rounded else digits - 1
    return f"{value:.{max(0, min(decimals, digits + 2))}f}"
