"""No change of the code changes a digit: all metrics × protocols on three scenes against a stored table."""

from __future__ import annotations

import csv

import pytest
from tests.conformance.digits import FIELDS, LETTERS, TABLE, rows

SUMMED = {"mae", "mae-valid", "mse", "rms", "bias", "mre", "mape", "sze", "sze-mean", "psnr"}
"""Metrics that read sums of the fused pass over the pixels, whose kernel may add in another order."""
ROUNDING = 1e-15
"""The relative difference that another order of additions may make; every other digit is compared bit for bit."""
BY_PROCESSOR = {"view-mse", "view-psnr", "ause-mae", "nll@3"}
"""Metrics that NumPy sums: it adds in another order with AVX-512 than with AVX2, and the table is one for both."""
PROCESSOR_ROUNDING = 1e-13

Key = tuple[str, ...]


def by_protocol(table: list[Key]) -> dict[Key, Key]:
    """Value, sum, count and missing by scene, metric, region and protocol."""
    names = {row[1]: row[2] for row in table if row[0] == LETTERS}
    return {(*row[:3], names[letter]): row[4:] for row in table if row[0] != LETTERS for letter in row[3]}


def same(key: Key, stored: Key, now: Key) -> bool:
    if stored == now:
        return True
    if key[1] not in SUMMED | BY_PROCESSOR or stored[2:] != now[2:]:
        return False
    rounding = ROUNDING if key[1] in SUMMED else PROCESSOR_ROUNDING
    pairs = zip(stored[:2], now[:2], strict=True)
    return all(float.fromhex(a) == pytest.approx(float.fromhex(b), rel=rounding, abs=0) for a, b in pairs)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_digit_is_as_stored() -> None:
    with TABLE.open(encoding="utf-8", newline="") as file:
        header, *lines = (tuple(line) for line in csv.reader(file))
    assert header == FIELDS
    stored, now = by_protocol(lines), by_protocol(list(rows()))
    assert list(stored.keys() - now.keys()) == []
    assert list(now.keys() - stored.keys()) == []
    different = {key: (stored[key], now[key]) for key in stored if not same(key, stored[key], now[key])}
    assert different == {}
