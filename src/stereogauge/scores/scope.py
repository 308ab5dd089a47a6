"""The scope of a question to stored scores: which of them are read, and how they become one order.

One declaration for the options of the command line, the query of the site's API, and the loader of saved scopes.
"""

from __future__ import annotations

from typing import Annotated, Literal

from stereogauge.errors import StereogaugeError
from stereogauge.loading import Declaration, entry, number
from stereogauge.protocol import Aggregation as Aggregation

Names = tuple[str, ...] | None
MissingRule = Literal["common", "drop-algorithm", "drop-column", "worst"]
MissingPixels = Literal["charged", "left out"]
LEAST_COVERAGE = 0.9
DRAWS = 2000
"""Random draws of scenes or weights, the same number everywhere, so that intervals of one score agree."""
EVERY_PIXEL, ONLY_SURE = "every-pixel", "sure"


class Scope(Declaration, frozen=True):
    """A selection of scores; None means everything, and for `protocol` the first."""

    scenes: Annotated[Names, entry("Only these scenes, by name or tag:weather=rain.")] = None
    regions: Annotated[Names, entry("Only these regions, e.g. nonocc,all,disc.")] = None
    metrics: Annotated[Names, entry("Only these metrics, e.g. bad@1,rms:nonocc.")] = None
    algorithms: Annotated[Names, entry("Only these algorithms, by name or tag:technique=learned.")] = None
    dataset: Annotated[str | None, entry("Only this dataset.")] = None
    protocol: Annotated[str | None, entry("Name or hash of the protocol, where there are several.")] = None
    aggregation: Annotated[
        Aggregation | None, entry("How scenes become one number; default: as the protocol says.")
    ] = None
    missing: Annotated[
        MissingRule,
        entry("What a missing score does: common (compare on what all have), drop-algorithm, drop-column, or worst."),
    ] = "common"
    need: Annotated[
        str | None,
        entry("Where values are needed: every-pixel, at a share such as 90%, or sure (where they are sure)."),
    ] = None
    least_coverage: Annotated[
        float,
        number("Share of its pixels that a score must cover to enter an order; below it is a gap.", least=0, most=1),
    ] = LEAST_COVERAGE
    least_support: Annotated[
        float | None, entry("Pixels that a set must have; default: 200 at full size, at least 30.")
    ] = None

    proportions: Annotated[
        str | None,
        entry("Shares of the parts of your images instead of weights: fine=0.3,disc=0.2,planar=0.3,other=0.2."),
    ] = None

    @property
    def coverage(self) -> float:
        """The share of its pixels that a score must cover: what is needed, else `least_coverage`."""
        return self.least_coverage if self.need is None else coverage_of(self.need)

    @property
    def names(self) -> dict[str, Names]:
        """The chosen names, as `ScoreCube.select` takes them."""
        return {key: getattr(self, key) for key in ("scenes", "regions", "metrics", "algorithms")}


def coverage_of(need: float | str) -> float:
    """The share of its pixels that a score must cover, from "every-pixel", a share such as 0.9 or "90%", or "sure"."""
    if need == EVERY_PIXEL:
        return 1.0
    if need == ONLY_SURE:
        return 0.0
    try:
        share = float(str(need).removesuffix("%")) / (100 if str(need).endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise StereogaugeError(
            f"A value is needed at {EVERY_PIXEL}, at a share of the pixels such as 90%, or only where it is sure "
            f"({ONLY_SURE}); found {need!r}."
        )
    return share
