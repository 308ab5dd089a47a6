"""A program that tests start, kill and start again: it tunes a slow matcher into a store and notes every run of it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import stereogauge as sg
from stereogauge import tune
from stereogauge.matching.declaration import Matcher, MatcherParameter


def scenes() -> list[sg.Scene]:
    """Three small scenes with different truth."""
    found = []
    for number in range(3):
        truth = np.full((12, 16), 4.0 + number, np.float32)
        image = np.full((12, 16), 10 * number, np.uint8)
        calibration = sg.Calibration(ndisp=16)
        found.append(sg.Scene(f"scene{number}", gt=truth, left=image, right=image, calibration=calibration))
    return found


def slow_matcher(log: Path, seconds: float) -> Matcher:
    """A constant map after a while; each call is a line in `log`."""

    def constant(left: Any, right: Any, ndisp: int, *, level: float, tilt: float) -> Any:
        time.sleep(seconds)
        with log.open("a") as file:
            file.write(f"{int(left[0, 0])} {level!r} {tilt!r}\n")
        return np.full(left.shape, level, np.float32) + np.linspace(0, tilt, left.shape[1], dtype=np.float32)

    parameters = (
        MatcherParameter("level", "float", 1.0, low=0.0, high=15.0, step=0.25),
        MatcherParameter("tilt", "float", 0.0, low=-2.0, high=2.0, step=0.25),
    )
    return Matcher("constant", "Constant", "", constant, parameters)


def main(store: str, log: str, trials: str, seconds: str) -> None:
    """Tune, and print the result's trials."""
    result = tune(
        slow_matcher(Path(log), float(seconds)),
        scenes(),
        {"mae": 1, "bad@1": 1},
        int(trials),
        protocol="default",
        folds=0,
        prune=False,
        store=store,
        name="shared",
        seed=3,
    )
    for trial in result.trials:
        sys.stdout.write(f"{trial.position} {trial.state} {dict(trial.parameters)} {trial.values}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
