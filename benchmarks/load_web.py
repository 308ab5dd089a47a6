"""Many visitors at once: `python -m benchmarks.load_web [--clients 50] [--seconds 60] [--rounds 5] [--store STORE]`.

Each client asks one question after another, from a mix of what the page asks; the server runs in a process of its own.
Prints answers, errors, waiting times, and the server's memory after warming up and after each round.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import threading
import time
from dataclasses import dataclass, field
from functools import partial

import httpx
import psutil

from benchmarks.bench_web import METRICS, CubeSource, selections, served
from stereogauge.errors import StereogaugeError
from stereogauge.store import open_store
from stereogauge.web.source import StoreSource

Question = tuple[str, list[tuple[str, str]]]


@dataclass
class Outcome:
    """What all clients saw."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def visit(base: str, seed: int, end: float, outcome: Outcome, questions: list[Question]) -> None:
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


def load(base: str, clients: int, seconds: float, questions: list[Question]) -> Outcome:
    """Let so many clients ask for so long."""
    outcome = Outcome()
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=visit, args=(base, 7 * n, end, outcome, questions)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcome


def mixed_questions(seed: int = 5) -> list[Question]:
    """Rankings of 40 selections, tables, lists and histograms."""
    questions = list(selections(40, seed=seed))
    questions += [("table", [("metrics", metric)]) for metric in METRICS]
    questions += [("histogram", [("metric", f"{metric}:all")]) for metric in METRICS]
    return [*questions, ("catalogue", []), ("scenes", []), ("algorithms", [])]


def small_questions(seed: int = 5) -> list[Question]:
    """What visitors of any store ask: lists, tables, answers and rankings under weights."""
    weights = [[("weights", f"rms={place + seed}"), ("weights", "bad@1=7")] for place in range(20)]
    ranks = [("rank", [("model", "weighted"), *own]) for own in weights]
    answers = [("answer", own) for own in weights]
    others = ("table", "rank", "catalogue", "scenes", "algorithms", "datasets", "correlation", "significance")
    return [*ranks, *answers, *((call, []) for call in others)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0, help="of one round")
    parser.add_argument("--rounds", type=int, default=1, help="rounds, each with other questions")
    parser.add_argument("--store", help="a store with rms and bad@1 instead of the large one that is made up")
    asked = parser.parse_args()
    try:
        if asked.store is not None:
            open_store(asked.store, read_only=True).close()
    except StereogaugeError as problem:
        parser.error(str(problem))
    source = CubeSource if asked.store is None else partial(stored, asked.store)
    ask = mixed_questions if asked.store is None else small_questions
    with served(source) as (base, identifier):
        process = psutil.Process(identifier)
        load(base, asked.clients, min(20.0, asked.seconds / 3), ask())
        memory = [process.memory_info().rss >> 20]
        for number in range(asked.rounds):
            outcome = load(base, asked.clients, asked.seconds, ask(number + 10))
            memory.append(process.memory_info().rss >> 20)
            report(outcome, asked.clients, asked.seconds)
    print(f"memory of the server in MiB, after warming up and after each round: {memory}")


def stored(path: str) -> StoreSource:
    """The scores of a store, in the process of the server."""
    return StoreSource(open_store(path, read_only=True))


def report(outcome: Outcome, clients: int, seconds: float) -> None:
    """Print what the clients of one round saw."""
    ordered = sorted(outcome.seconds)
    if not ordered:
        print(f"no answer to {clients} clients in {seconds:g} s; give more --seconds or fewer --clients")
        return
    print(f"{len(ordered)} answers to {clients} clients in {seconds:g} s, {len(outcome.errors)} errors")
    print(f"median {1e3 * statistics.median(ordered):.0f} ms, 95 % {1e3 * ordered[int(0.95 * len(ordered))]:.0f} ms")
    for error in outcome.errors[:5]:
        print(error)


if __name__ == "__main__":
    main()
