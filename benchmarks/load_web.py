"""Many visitors at once: `python -m benchmarks.load_web [--clients 50] [--seconds 60]`.

Each client asks one question after another, from a mix of what the page asks; the server runs in a process of its own.
Prints answers, errors, waiting times, and the server's memory after a third of that time to warm up and at the end.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import threading
import time
from dataclasses import dataclass, field

import httpx
import psutil

from benchmarks.bench_web import METRICS, selections, served


@dataclass
class Outcome:
    """What all clients saw."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def visit(
    base: str, seed: int, end: float, outcome: Outcome, questions: list[tuple[str, list[tuple[str, str]]]]
) -> None:
    """One client until `end` (monotonic seconds)."""
    with httpx.Client(base_url=f"{base}/api/v1/", timeout=120) as client:
        for call, params in itertools.cycle(questions[seed % len(questions) :] + questions[: seed % len(questions)]):
            if time.monotonic() > end:
                return
            start = time.perf_counter()
            try:
                answer = client.get(call, params=params)
                if answer.status_code != 200:
                    outcome.errors.append(f"{answer.status_code} {answer.text[:200]}")
            except httpx.HTTPError as problem:
                outcome.errors.append(repr(problem))
            outcome.seconds.append(time.perf_counter() - start)


def load(base: str, clients: int, seconds: float, questions: list[tuple[str, list[tuple[str, str]]]]) -> Outcome:
    """Let so many clients ask for so long."""
    outcome = Outcome()
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=visit, args=(base, 7 * n, end, outcome, questions)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcome


def mixed_questions() -> list[tuple[str, list[tuple[str, str]]]]:
    """Rankings of 40 selections, tables, lists and histograms."""
    questions = list(selections(40, seed=5))
    questions += [("table", [("metrics", metric)]) for metric in METRICS]
    questions += [("histogram", [("metric", f"{metric}:all")]) for metric in METRICS]
    return [*questions, ("catalogue", []), ("scenes", []), ("algorithms", [])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    asked = parser.parse_args()
    with served() as (base, identifier):
        process = psutil.Process(identifier)
        load(base, asked.clients, asked.seconds / 3, mixed_questions())
        early = process.memory_info().rss >> 20
        outcome = load(base, asked.clients, asked.seconds, mixed_questions())
        late = process.memory_info().rss >> 20
    ordered = sorted(outcome.seconds)
    print(f"{len(ordered)} answers to {asked.clients} clients in {asked.seconds:g} s, {len(outcome.errors)} errors")
    print(f"median {1e3 * statistics.median(ordered):.0f} ms, 95 % {1e3 * ordered[int(0.95 * len(ordered))]:.0f} ms")
    print(f"memory of the server {early} MiB after warming up, {late} MiB at the end")
    for error in outcome.errors[:5]:
        print(error)


if __name__ == "__main__":
    main()
