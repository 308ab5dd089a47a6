"""Many visitors at once get answers; the minute-long run with fifty of them is `python -m benchmarks.load_web`."""

from __future__ import annotations

from benchmarks.load_web import load


def test_visitors_at_once_get_answers_without_error(address: str) -> None:
    questions: list[tuple[str, list[tuple[str, str]]]] = [
        ("rank", [("model", "extended")]),
        ("rank", [("model", "a-star"), ("regions", "all")]),
        ("rank", [("model", "weighted"), ("weights", "rms=1"), ("weights", "bias=3")]),
        ("table", [("column", "rms:all")]),
        ("significance", []),
        ("scenes/alpha/layers/estimate.png", [("algorithm", "good")]),
        ("scenes/gamma/pixel", [("x", "3"), ("y", "4"), ("algorithms", "good")]),
        ("catalogue", []),
    ]
    outcome = load(address, clients=20, seconds=5.0, questions=questions)
    assert outcome.errors == []
    assert len(outcome.seconds) > 20
