"""Limits of submissions: size, frequency, time of evaluation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """Limits: sizes in bytes, times in seconds unless the name says hours; `hidden` are patterns of hidden scenes."""

    per_period: int = 10
    period_hours: float = 24.0
    largest_bytes: int = 512 << 20
    largest_unpacked: int = 4 << 30
    most_entries: int = 2000
    seconds: float = 3600.0
    upload_seconds: float = 900.0
    memory_bytes: int = 16 << 30
    most_waiting: int = 100
    uploads_at_once: int = 4
    failures_allowed: int = 10
    failure_seconds: float = 300.0
    hidden: tuple[str, ...] = ()
