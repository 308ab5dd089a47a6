"""Limits of submissions: size, frequency, time of evaluation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """Limits: sizes in bytes, times in seconds unless the name says hours; `hidden` are patterns of hidden scenes.

    Within each `stall_seconds` of an upload at least `least_rate` bytes per second must arrive. `quota` is the disk
    space of all that one submitter has here, `total_quota` that of everybody; nothing is taken while fewer than
    `least_free` bytes of the disk are free. Of the uploads that are found invalid, `free_invalid` per period do not
    count as submissions. `watched_at_once` are the streams of progress that one submitter may hold open. `worker_user`
    decodes uploads where the server is root's; None: nobody.
    """

    per_period: int = 10
    period_hours: float = 24.0
    largest_bytes: int = 512 << 20
    largest_unpacked: int = 4 << 30
    most_entries: int = 2000
    seconds: float = 3600.0
    upload_seconds: float = 900.0
    stall_seconds: float = 10.0
    least_rate: int = 64 << 10
    checking_seconds: float = 30.0
    memory_bytes: int = 16 << 30
    checking_memory: int = 4 << 30
    most_waiting: int = 100
    most_held: int = 3
    uploads_at_once: int = 32
    watched_at_once: int = 4
    quota: int = 16 << 30
    total_quota: int = 256 << 30
    least_free: int = 1 << 30
    failures_allowed: int = 10
    failure_seconds: float = 300.0
    database_seconds: float = 30.0
    hidden: tuple[str, ...] = ()
    free_invalid: int = 20
    worker_user: str | None = None
