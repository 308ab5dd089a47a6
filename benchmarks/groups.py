"""The one list of benchmarks: each is a module with a function `run(report)`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Group:
    """A part of the benchmarks that can be asked for by name; `large` ones only run when they are asked for."""

    name: str
    title: str
    module: str
    large: bool = False

    @property
    def run(self) -> Callable[[Any], None]:
        """Its function, imported when it is about to run."""
        found: Callable[[Any], None] = importlib.import_module(self.module).run
        return found


GROUPS = (
    Group("start", "Commands from start to finish", "benchmarks.bench_start"),
    Group("sgm", "Matching, Motorcycle at quarter size", "benchmarks.bench_sgm"),
    Group("sgm-full", "Matching, 2964 × 1988, 280 disparities", "benchmarks.bench_sgm_full"),
    Group("confidence", "Confidence measures", "benchmarks.bench_confidence"),
    Group("pandora", "Matching with confidence against Pandora", "benchmarks.bench_pandora"),
    Group("pixelwise", "Pixel-wise metrics, 2964 × 1988", "benchmarks.bench_pixelwise"),
    Group("running", "Validation in a training loop", "benchmarks.bench_running"),
    Group("geometry", "Geometry metrics, 2964 × 1988", "benchmarks.bench_geometry"),
    Group("store", "Plan, store and worker processes", "benchmarks.bench_store"),
    Group("ranking", "Ranking and the answer", "benchmarks.bench_ranking"),
    Group("web", "Answers of the site's server", "benchmarks.bench_web"),
    Group("pages", "Pages of the site in a browser", "benchmarks.bench_pages"),
    Group("scaling", "Curves of cost over size", "benchmarks.bench_scaling"),
    Group("decisions", "How often answers name the right algorithm", "benchmarks.bench_decisions", large=True),
    Group("maxima", "Maxima of real scores, and effective weights", "benchmarks.bench_maxima", large=True),
    Group("large", "A pair of 100 megapixels", "benchmarks.bench_large", large=True),
)
