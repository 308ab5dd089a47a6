"""How numbers, shares and lists are written: one rule for tables, sentences, pages and files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd

GAP = "–"
MOST_NAMED = 4
SMALLEST_P = 1e-4


NUMBER_PATTERN = r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf)"
"""A number after the @ of a metric or region."""


def number_text(value: float, digits: int = 3) -> str:
    """The value with this many significant digits, more before the point; an en dash where nothing was measured.

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


def p_text(value: float) -> str:
    """A p-value in words; one that is rounded to nothing is still not 0.

    >>> p_text(0.0312), p_text(0.0)
    ('p = 0.031', 'p < 0.0001')
    """
    return f"p = {value:.2g}" if value >= SMALLEST_P else f"p < {SMALLEST_P:.4f}"


def percent(share: float) -> str:
    """A share as a percentage that never claims more than it is: 0 % and 100 % only where they are exact.

    Halves are rounded up, as a browser does; what the last bits of a sum leave is nothing.

    >>> [percent(share) for share in (0.0, 1e-15, 0.002, 0.125, 0.864, 0.998, 1.0)]
    ['0 %', '0 %', 'less than 1 %', '13 %', '86 %', 'more than 99 %', '100 %']
    """
    exact = round(share, 12)
    if 0 < exact < 0.01:
        return "less than 1 %"
    if 0.99 < exact < 1:
        return "more than 99 %"
    return f"{_rounded(Decimal(str(100 * exact)), 0)} %" if math.isfinite(exact) else GAP


def stated_percent(share: float) -> str:
    """A share that somebody chose, with the digits that it was given.

    >>> stated_percent(0.05), stated_percent(0.005), stated_percent(0.999)
    ('5 %', '0.5 %', '99.9 %')
    """
    return f"{100 * share:g} %"


def chance_text(share: float) -> str:
    """The share of draws in which something is so, as whole per cent; what is rare is not called impossible.

    >>> chance_text(0.001), chance_text(0.257), chance_text(0.999), chance_text(1)
    ('< 1 %', '26 %', '> 99 %', '100 %')
    """
    if 0 < share < 0.01 or 0.99 < share < 1:
        return "< 1 %" if share < 0.5 else "> 99 %"
    return f"{100 * share:.0f} %"


def percents_apart(first: float, second: float) -> tuple[str, str]:
    """Two shares as percentages with as many decimals as it takes to tell them apart, at most four.

    >>> percents_apart(0.8987, 0.9), percents_apart(0.63, 0.9)
    (('89.9 %', '90.0 %'), ('63 %', '90 %'))
    """
    decimals = next((places for places in range(4) if f"{100 * first:.{places}f}" != f"{100 * second:.{places}f}"), 4)
    return f"{100 * first:.{decimals}f} %", f"{100 * second:.{decimals}f} %"


def counted(amount: int, noun: str) -> str:
    """A number with its noun: `1 scene`, `4 scenes`."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def listed(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Names as a sentence lists them, at most this many and the number of the others.

    >>> listed(["A"]), listed(["A", "B"]), listed(["A", "B", "C"]), listed(list("ABCDEF"), 3)
    ('A', 'A and B', 'A, B and C', 'A, B, C and 3 others')
    """
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def shortened(names: Iterable[str], most: int = MOST_NAMED) -> str:
    """The first of these names, each once, and how many more there are.

    >>> shortened(["A", "B", "A"]), shortened("ABCDEF", 2)
    ('A, B', 'A, B and 4 more')
    """
    distinct = list(dict.fromkeys(names))
    return ", ".join(distinct[:most]) + (f" and {len(distinct) - most} more" if len(distinct) > most else "")


def lower_first(text: str) -> str:
    """The text with a small first letter, unless its first word is an abbreviation or a name with capitals inside.

    >>> [lower_first(text) for text in ("Driver assistance", "3D metrology", "RMS of all")]
    ['driver assistance', '3D metrology', 'RMS of all']
    """
    first = text.split(" ")[0]
    return text if first[1:] != first[1:].lower() else text[:1].lower() + text[1:]


def upper_first(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def json_value(value: Any) -> Any:
    """Null for NaN, the texts "inf" and "-inf" for infinities, plain numbers instead of NumPy's; lists entry by entry.

    A record or named tuple becomes an object, and so does what has `to_dict`.

    >>> json_value([1.5, float("nan"), float("inf"), 3, "words"])
    [1.5, None, 'inf', 3, 'words']
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "__struct_fields__"):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "tolist"):  # NumPy's arrays and numbers
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [json_value(entry) for entry in value]
    if isinstance(value, Mapping):
        return {key: json_value(entry) for key, entry in value.items()}
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)


def json_values(record: Any, names: Iterable[str], **stated: Any) -> dict[str, Any]:
    """Attributes of a record as `json_value` makes them, and what is stated besides."""
    found: dict[str, Any] = json_value({name: getattr(record, name) for name in names} | stated)
    return found


def json_text(document: Any) -> str:
    """`json_value` of a document as text, with names in their own letters."""
    return json.dumps(json_value(document), indent=1, allow_nan=False, ensure_ascii=False)


class WrittenAsJson:
    """A result that is one JSON document, as its `to_dict` has it."""

    def to_json(self) -> str:
        """`to_dict` as one JSON document; NaN is null, infinity the text "inf"."""
        return json_text(self)


class Tabular(Protocol):
    """A result that is one table."""

    def to_pandas(self) -> pd.DataFrame:
        """The table as a frame."""
        ...


class WrittenAsCsv:
    """A result that is one table for other programs."""

    def to_csv(self: Tabular) -> str:
        """`to_pandas` as CSV with full precision."""
        return str(self.to_pandas().to_csv(index=False))
