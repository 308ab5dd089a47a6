"""Scores composed in the proportions of an application instead of those of the images.

Honauer et al., The HCI Stereo Metrics, 2015, section 5: performance on different image regions may be composed such
that it complies with the proportions of a given application. Pixel-wise scores are measured on exclusive parts of the
scenes (`part-fine`, `part-planar`, …); a proportion becomes the weight of the part's column.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stereogauge.errors import StereogaugeError, unknown_name
from stereogauge.masks.geometric import PARTS
from stereogauge.scores.cube import ScoreCube

NAMES: Mapping[str, tuple[str, ...]] = {
    "disc": ("part-background", "part-foreground"),
    **{part.removeprefix("part-"): (part,) for part in PARTS},
}
"""What a user may call the parts; `disc` means both sides of the edges, half of its proportion each."""


def parse_proportions(text: str) -> dict[str, float]:
    """Proportions such as `fine=0.3,disc=0.2,planar=0.3,other=0.2`, divided by their sum.

    >>> parse_proportions("fine=1,planar=3")
    {'fine': 0.25, 'planar': 0.75}
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, amount = (piece.strip() for piece in part.partition("="))
        if name not in NAMES:
            raise unknown_name("part of a scene", name, NAMES)
        try:
            found[name] = float(amount)
        except ValueError:
            found[name] = -1.0
        if not found[name] >= 0:
            raise StereogaugeError(f"A proportion is written PART=NUMBER, for example fine=0.3; found {part!r}.")
    total = sum(found.values())
    if total <= 0:
        raise StereogaugeError(f"At least one proportion must be greater than 0; found {text!r}.")
    return {name: value / total for name, value in found.items()}


def proportion_weights(cube: ScoreCube, proportions: Mapping[str, float] | str) -> dict[str, float]:
    """The weight of every column of a part: the part's proportion, shared by the metrics that are stored on parts."""
    shares = parse_proportions(proportions if isinstance(proportions, str) else _text(proportions))
    wanted = {part: share / len(NAMES[name]) for name, share in shares.items() for part in NAMES[name] if share > 0}
    stored = [column for column in cube.columns if column.region in wanted]
    lacking = [part for part in wanted if part not in {column.region for column in stored}]
    if lacking:
        raise StereogaugeError(
            f"Nothing is measured on {', '.join(lacking)}; evaluate pixel-wise metrics with --regions "
            f"{','.join(PARTS)} first."
        )
    counts = {part: sum(column.region == part for column in stored) for part in wanted}
    return {str(column): wanted[column.region] / counts[column.region] for column in stored}


def composed_weights(
    cube: ScoreCube,
    proportions: Mapping[str, float] | str | None,
    weights: Mapping[str, float] | None = None,
    profile: str | Path | None = None,
) -> Mapping[str, float] | None:
    """The weights that proportions make, or the stated ones where there are no proportions."""
    if proportions is None:
        return weights
    if weights is not None or profile is not None:
        other = "weights" if profile is None else f"the profile {str(profile)!r}"
        raise StereogaugeError(f"Proportions take the place of weights and of a profile; found {other} beside them.")
    return proportion_weights(cube, proportions)


def _text(proportions: Mapping[str, float]) -> str:
    return ",".join(f"{name}={value}" for name, value in proportions.items())
