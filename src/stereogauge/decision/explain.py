"""`explain`: why one algorithm scores better than another, term by term, scene by scene, region by region.

The weighted score is a sum over columns (see `stereogauge.ranking.weighted_score`), so the difference of two algorithms
is S_A − S_B = Σ_t Σ_f w_t / |F_t| · (n_{A,t,f} − n_{B,t,f}): every column is of one scene, and a column over pixels
divides further into the parts of an exclusive partition of the scene. All three sums are the difference itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from typing import Protocol as Interface

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.decision.requirements import completeness_of
from stereogauge.decision.source import DEFAULT, Source, measured_part, opening, purpose_of, read_scores
from stereogauge.decision.verdict import (
    ALPHA,
    TOLERANCE,
    Settings,
    against,
    compared_scores,
    least_scenes,
    little_measured,
    partly_measured,
)
from stereogauge.decision.words import Claim, render, sentences
from stereogauge.display import Displayed
from stereogauge.errors import StereogaugeError, one_of
from stereogauge.masks.expression import region_id
from stereogauge.masks.geometric import PARTS
from stereogauge.model import Scene
from stereogauge.protocol import EITHER_UNIT, Protocol
from stereogauge.ranking.profile import Profile, load_profile, metric_words, property_of
from stereogauge.ranking.run import Scores
from stereogauge.ranking.weighted_score import WeightedScore, with_stand_ins
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube, Values
from stereogauge.scores.score import Score
from stereogauge.scores.selection import missing_rule
from stereogauge.text import WrittenAsCsv, WrittenAsJson, json_values

if TYPE_CHECKING:
    import pandas as pd

MOST_REASONS = 3
WORTH = 0.05
"""A term, scene or region is named where it makes at least this share of all amounts."""
LEAST_LOST = 0.001
"""A share of missing pixels that is mentioned, since the scores charge them."""
OWN_PARTS: Mapping[str, str] = {
    "disc-background": "part-background",
    "disc-foreground": "part-foreground",
    "planar": "part-planar",
    "fine": "part-fine",
    "fine-surround": "part-fine",
}
"""The part to which metrics bound to these pixel sets belong as a whole."""
MEAN_ERROR, SQUARED_ERROR = "bias", ("mse", "rms")
SHIFT_COLUMNS = (Column("bias", "all"), Column("mse", "all"))
"""What shows a common shift."""
CANCELLED = 1e-9
UNATTRIBUTED = "not attributed"
"""The name of the part of a difference that no region accounts for."""
SHIFT = "common shift"
"""The name of the cause where the errors of two maps differ by their mean."""


class MapOrigins(Interface):
    """Where scenes and maps come from, by their names; `stereogauge.evaluation.stored_maps` has those of stores."""

    @property
    def protocol(self) -> Protocol | None:
        """The protocol under which the maps are measured."""
        ...

    @property
    def scene(self) -> Callable[[str], Scene]:
        """The scene of a name."""
        ...

    @property
    def source(self) -> Callable[[str, str], Any]:
        """The map of an algorithm on a scene, or its path; None where it is not available."""
        ...

    def measure(self, scene: str, algorithms: Sequence[str], columns: Sequence[Column]) -> Iterable[Score]:
        """The scores of some algorithms on one scene, measured from their maps."""
        ...


Statistics = Mapping[tuple[str, str, Column], tuple[float, float]]
"""Sum and number of pixels by algorithm, scene and column."""


def part_columns(column: Column) -> Mapping[str, Column]:
    """The columns, by part, whose sums make up that of `column`; empty where the metric is not a sum over pixels."""
    metric = column.declared.metric
    if not metric.pools or metric.counts != "pixels" or metric.region in OWN_PARTS:
        return {}
    if column.region in PARTS:
        return {column.region: column}
    if column.region in ("all", "nonocc"):
        seen = (part for part in PARTS if column.region == "all" or part != "part-occluded")
        return {part: Column(column.metric, part) for part in seen}
    return {part: Column(column.metric, region_id(f"({column.region})&{part}")) for part in PARTS}


def statistics(
    cube: ScoreCube,
    algorithms: Sequence[str],
    score: WeightedScore,
    maps: MapOrigins | None,
    progress: Callable[[str], None] | None,
) -> tuple[Statistics, tuple[str, ...]]:
    """What a cube holds of some algorithms; with `maps` also the parts of the columns of the score, and what shows a
    common shift, measured from the maps; and the reasons where a map could not be read.
    """
    known: dict[tuple[str, str, Column], tuple[float, float]] = {}
    reasons = []
    parts = (part for column in score.costs.columns for part in (column, *part_columns(column).values()))
    columns = tuple(dict.fromkeys((*parts, *SHIFT_COLUMNS)))
    for scene in score.scenes:
        if maps is not None:
            if progress is not None:
                progress(scene)
            try:
                for one in maps.measure(scene, algorithms, columns):
                    known[one.algorithm, scene, Column(one.metric, one.region)] = one.sum, one.count
            except (StereogaugeError, OSError) as reason:
                reasons.append(f"{scene}: {reason}")
        for name in algorithms:
            own = cube.algorithms.index(name), cube.scenes.index(scene)
            stored = zip(cube.columns, cube.sums[own].tolist(), cube.counts[own].tolist(), strict=True)
            known |= {(name, scene, column): (total, count) for column, total, count in stored if count == count}
    return known, tuple(reasons)


def part_shares(column: Column, scene: str, a: str, b: str, known: Statistics) -> NDArray[np.float64] | None:
    """Shares of the difference a − b in a column that arise in each part, in the order of `PARTS`; they sum to 1.

    The mean of a pooled metric is Σ_p sum_p / count, so part p adds sum_{a,p}/count_a − sum_{b,p}/count_b; a root of a
    mean divides in the same proportions. None where the statistics of the parts are not known, or cancel out.
    """
    metric, divided = column.declared.metric, part_columns(column)
    if not divided:
        return None
    assert metric.finalize is not None
    averages = math.isclose(metric.finalize(2.0, 4), metric.finalize(1.0, 2))  # else it is a sum
    amounts = dict.fromkeys(PARTS, 0.0)
    totals = []
    for sign, name in ((1.0, a), (-1.0, b)):
        total, pixels = known.get((name, scene, column), (0.0, 0.0))
        sums = {part: known[name, scene, one][0] for part, one in divided.items() if (name, scene, one) in known}
        if len(sums) < len(divided) or pixels == 0:
            return None
        if not math.isclose(sum(sums.values()), total, rel_tol=1e-6, abs_tol=1e-6):
            return None
        for part, own in sums.items():
            amounts[part] += sign / (pixels if averages else 1.0) * own
        totals.append(total)
    found = np.array(list(amounts.values()))
    difference, size = found.sum(), np.abs(found).sum()
    opposed = metric.direction == "zero" and totals[0] * totals[1] < 0
    return None if opposed or abs(difference) <= CANCELLED * size else np.asarray(found / difference, np.float64)


def common_shift(scene: str, a: str, b: str, known: Statistics, amount: float) -> float | None:
    """The difference of the means of two maps' signed errors, second − first in px, where it makes most of `amount`.

    The mean of e² is the square of the mean of e, and the variance of e: a shift makes most of the difference of the
    squared errors where the squares of the means differ more than the variances do, and as `amount` does. None where it
    does not, and where mean or squared errors are not known.
    """

    def mean(name: str, metrics: Iterable[str]) -> float:
        keys = ((name, scene, Column(metric, "all")) for metric in metrics)
        total, pixels = next((known[key] for key in keys if key in known), (0.0, 0.0))
        return total / pixels if pixels else math.nan

    first, second = mean(a, [MEAN_ERROR]), mean(b, [MEAN_ERROR])
    by_mean = first**2 - second**2
    by_variance = mean(a, SQUARED_ERROR) - mean(b, SQUARED_ERROR) - by_mean
    return second - first if by_mean * amount > 0 and abs(by_mean) > abs(by_variance) else None


class Reason(NamedTuple):
    """A term of the difference: negative amounts speak for the first algorithm, since lower scores are better.

    `first` and `second` are the mean scores of the two in the metric's unit; `first_contribution` and
    `second_contribution` what the term adds to the score of each, so that their difference is the amount. `name` is the
    metric without its id. `part` is the region whose pixels alone the metric is about, "" where it is about others.
    """

    term: str
    words: str
    property: str
    weight: float
    first: float
    second: float
    amount: float
    name: str
    part: str = ""
    first_contribution: float = math.nan
    second_contribution: float = math.nan


class Piece(NamedTuple):
    """A named part of the difference: a scene, a region or a cause.

    `attributed` is False for what no region accounts for.
    """

    name: str
    amount: float
    attributed: bool = True


class Explanation(Displayed, WrittenAsJson, WrittenAsCsv, Struct, frozen=True, eq=False):
    """Why the first algorithm scores better (or worse) than the second.

    `difference` is score of the first − score of the second. `terms`, `scenes`, `regions` and `causes` each sum to it;
    `pieces` holds it by term, scene and region, shape (terms, scenes, regions). The last region is what cannot be
    attributed; `undivided_claims` and `problems` say why, and `command` computes what is missing. A cause is a region,
    or a common shift: where the mean of the signed errors makes most of the difference of a scene's squared errors,
    the pixels of all regions are wrong for that reason. `shift` is its mean over these scenes, second − first in px.
    `completeness` is the share of the pixels that have a value, of the first and the second, NaN where it is unknown.
    `units` are the independent scenes. `p_value` and `open` are those of the answer's test that the other is not better
    by more than the tolerance: its one-sided p-value, and whether that stays possible. `measured_share` is the share of
    the weight that is measured; `alpha` and `tolerance` are the level and the tolerance of the test.
    """

    first: str
    second: str
    purpose: str
    scores: tuple[float, float]
    terms: tuple[Reason, ...]
    scenes: tuple[Piece, ...]
    regions: tuple[Piece, ...]
    causes: tuple[Piece, ...]
    shift: float
    pieces: Values
    depth_unit: str = EITHER_UNIT
    completeness: tuple[float, float] = (math.nan, math.nan)
    undivided_claims: tuple[Claim, ...] = ()
    problems: tuple[str, ...] = ()
    command: str = ""
    units: int = 0
    p_value: float = 1.0
    open: bool = True
    measured_share: float = 1.0
    alpha: float = ALPHA
    tolerance: float = TOLERANCE

    @property
    def difference(self) -> float:
        """Score of the first − score of the second."""
        return self.scores[0] - self.scores[1]

    @property
    def better(self) -> str | None:
        """The one with the lower score; None where they are equal."""
        if abs(self.difference) < 1e-12:
            return None
        return self.first if self.difference < 0 else self.second

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Who is better, what speaks for and against it, and on which scenes and regions the difference arises."""
        return tuple(_claims(self))

    @property
    def text(self) -> str:
        """The claims in words."""
        return render(self.claims).sentence

    @property
    def undivided(self) -> tuple[str, ...]:
        """Why parts of the difference cannot be attributed to a region, in sentences."""
        return (*sentences(self.undivided_claims), *self.problems)

    def __repr__(self) -> str:
        return f"Explanation({self.text})"

    def to_pandas(self) -> pd.DataFrame:
        """Long form: term, scene, region, amount; the amounts sum to the difference."""
        import pandas as pd

        names = [[r.term for r in self.terms], [p.name for p in self.scenes], [p.name for p in self.regions]]
        index = pd.MultiIndex.from_product(names, names=["term", "scene", "region"])
        return pd.DataFrame({"amount": self.pieces.ravel()}, index=index).reset_index()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        made = ("difference", "better", "text", "claims", "undivided")
        return json_values(self, (*self.__struct_fields__, *made))


def _claims(found: Explanation) -> Iterator[Claim]:
    purpose = {"purpose": found.purpose}
    if found.better is None:
        yield Claim("same-score", (found.first, found.second), {"score": found.scores[0]}, purpose)
        return
    swapped = found.better == found.second
    other, lead = (found.first, 1.0) if swapped else (found.second, -1.0)
    numbers = {"better": min(found.scores), "other": max(found.scores), "scenes": float(found.units)}
    kind = "ahead-of" if found.open else "better"
    if little_measured(found.measured_share):
        kind = "better-on-part"
    elif found.units < least_scenes(found.alpha):
        kind = "ahead-on-few"
    yield Claim(kind, (found.better, other), numbers | {"tolerance": found.tolerance}, purpose)
    cause = max((one for one in found.causes if one.attributed), key=lambda piece: lead * piece.amount)
    if lead * cause.amount > 0:
        if cause.name == SHIFT:
            yield Claim("common-shift", (found.better, other), {"shift": -lead * found.shift})
        else:
            attributed = [one for one in found.causes if one.attributed]
            yield Claim("lead-by-region", (found.better, *_largest(attributed, lead)))
    yield from _better_at(found, found.better, lead, cause.name)
    yield from _better_at(found, other, -lead)
    shares = zip((found.first, found.second), found.completeness, strict=True)
    if lost := {name: 1 - share for name, share in shares if 1 - share >= LEAST_LOST}:
        yield Claim("charged-means", tuple(lost), lost)
    if len(found.scenes) > 1:
        ahead = sum(lead * piece.amount > 0 for piece in found.scenes)
        numbers = {"ahead": float(ahead), "scenes": float(len(found.scenes))}
        yield Claim("ahead-on", (found.better, *_largest(found.scenes, lead)), numbers)
    whole = sum(abs(piece.amount) for piece in found.regions)
    rest = abs(found.regions[-1].amount)
    if whole and rest / whole >= WORTH:
        yield Claim("unattributed", numbers={"share": rest / abs(found.difference)})
    yield from partly_measured(found.measured_share)


def _better_at(found: Explanation, name: str, sign: float, cause: str = "") -> Iterator[Claim]:
    """The terms that speak for one of the two, most first, those that are about the cause alone before all others.

    Among the latter the larger difference comes first, whatever the weights: which of them differs says what happened
    to these pixels, as weights do not.
    """

    def place(reason: Reason) -> tuple[bool, float]:
        own = bool(cause) and reason.part == cause
        return not own, -round(sign * reason.amount / (reason.weight if own else 1.0), 9)

    size = sum(abs(reason.amount) for reason in found.terms)
    worth = [reason for reason in found.terms if sign * reason.amount >= WORTH * size]
    reasons = sorted(worth, key=place)[:MOST_REASONS]
    numbers: dict[str, float] = {}
    for reason in reasons:
        own, other = (reason.first, reason.second) if name == found.first else (reason.second, reason.first)
        if not (math.isnan(own) or math.isnan(other)):
            numbers |= {f"{reason.term} own": own, f"{reason.term} other": other}
    if reasons:
        yield Claim("better-at", (name, *(reason.term for reason in reasons)), numbers, {"unit": found.depth_unit})


def _largest(pieces: Sequence[Piece], sign: float) -> tuple[str, ...]:
    """The piece that speaks most for one side; the first two where that is less than half of all that do."""
    order = sorted((piece for piece in pieces if sign * piece.amount > 0), key=lambda piece: -sign * piece.amount)
    half = sum(abs(piece.amount) for piece in order) / 2
    count = 1 if order and abs(order[0].amount) >= half else 2
    return tuple(piece.name for piece in order[:count])


def explain(
    scores: Scores,
    a: str,
    b: str,
    profile: str | Path | None = None,
    weights: Mapping[str, float] | None = None,
    *,
    maps: MapOrigins | None = None,
    missing: str = "common",
    alpha: float = ALPHA,
    tolerance: float = TOLERANCE,
    proportions: Mapping[str, float] | str | None = None,
) -> Explanation:
    """Why algorithm `a` scores better or worse than `b` under a profile or given weights.

    The difference is divided by metric, by scene, and by region as far as the scores are stored on the parts of the
    partition (`part-occluded`, `part-fine`, …). With `maps` (see `stereogauge.evaluation.stored_maps`) the parts are
    measured from the maps. `missing`, `alpha`, `tolerance` and `proportions` are those of `answer`.

    >>> truth = np.tile([4, 4, 8, 8], (10, 5))
    >>> scores = sg.evaluate({"A": truth, "B": truth + 2}, sg.Scene("step", gt=truth), ["bad@1", "mae"], ["all"])
    >>> why = sg.explain(scores, "A", "B", weights={"bad@1": 3, "mae": 1})
    >>> [(reason.term, round(reason.amount, 3)) for reason in why.terms]
    [('bad@1', -0.75), ('mae', -0.25)]
    """
    source = read_scores(scores)
    purpose = purpose_of(source.cube, profile, weights, proportions)
    settings = Settings(alpha=alpha, missing=missing, tolerance=tolerance)
    return explained(source, a, b, settings, purpose, maps=maps)


def explained(
    source: Source,
    a: str,
    b: str,
    settings: Settings,
    purpose: Profile | None = None,
    *,
    maps: MapOrigins | None = None,
    progress: Callable[[str], None] | None = None,
) -> Explanation:
    """The explanation from scores that were read and selected; `explain` explains the parameters."""
    settings.check()
    for name in (a, b):
        one_of("algorithm of these scores", name, source.cube.algorithms)
    if a == b:
        raise StereogaugeError(f"An explanation compares two algorithms; found {a!r} twice.")
    weighed = with_stand_ins(purpose or load_profile(DEFAULT), source.cube)
    score, selection = compared_scores(source.cube, weighed, missing_rule(settings.missing), also=(a, b))
    for name in (a, b):
        if name not in score.algorithms:
            reason = next(what.reason for what in selection.dropped if what.name == name)
            raise StereogaugeError(f"{name} cannot be compared: {reason}; evaluate what it lacks, or leave it out.")
    known, problems = statistics(source.cube, (a, b), score, maps, progress)
    rows = [score.algorithms.index(name) for name in (a, b)]
    pieces = _pieces(score, rows, known)
    causes, shift = _causes(score.scenes, a, b, pieces, known)
    undivided, lacking = _undivided(score, rows, pieces)
    better, other = sorted(rows, key=lambda row: score.value[row])
    tested = against(score, better, settings)
    terms = tuple(
        Reason(
            term=term,
            words=metric_words(term),
            property=property_of(term),
            weight=float(entry.weight),
            first=float(score.mean_scores(term)[rows[0]]),
            second=float(score.mean_scores(term)[rows[1]]),
            amount=float(pieces[place].sum()),
            name=metric_words(term, with_id=False),
            part=PARTS.get(OWN_PARTS.get(score.costs.column_at(entry.flat[0]).declared.metric.region or "", ""), ""),
            first_contribution=float(score.by_term[rows[0], place]),
            second_contribution=float(score.by_term[rows[1], place]),
        )
        for place, (term, entry) in enumerate(score.terms.items())
    )
    complete = completeness_of(source.cube)
    return Explanation(
        first=a,
        second=b,
        purpose=opening(weighed),
        scores=(float(score.value[rows[0]]), float(score.value[rows[1]])),
        terms=terms,
        scenes=tuple(map(Piece, score.scenes, pieces.sum(axis=(0, 2)).tolist())),
        regions=_by_part(pieces),
        causes=causes,
        shift=shift,
        pieces=pieces,
        depth_unit=selection.depth_unit,
        completeness=(complete[a], complete[b]),
        undivided_claims=undivided,
        problems=problems,
        command=source.command(lacking, PARTS) if lacking else "",
        units=score.costs.units,
        p_value=float(tested.p_values[other]),
        open=bool(tested.open[other]),
        measured_share=measured_part(source, weighed, score).share,
        alpha=settings.alpha,
        tolerance=settings.tolerance,
    )


def _pieces(score: WeightedScore, rows: Sequence[int], known: Statistics) -> Values:
    """The difference by term, scene and part; what cannot be attributed to a part is last."""
    costs = score.costs
    a, b = (score.algorithms[row] for row in rows)
    pieces = np.zeros((len(score.terms), len(score.scenes), len(PARTS) + 1))
    for place, term in enumerate(score.terms.values()):
        for flat, amount in zip(term.flat, term.amounts[rows[0]] - term.amounts[rows[1]], strict=True):
            scene, column = int(costs.scene_of[flat]), costs.column_at(flat)
            own = OWN_PARTS.get(column.declared.metric.region or "")
            shares = None
            if own is None and np.isfinite(costs.matrix[rows, flat]).all():
                shares = part_shares(column, score.scenes[scene], a, b, known)
            if shares is None:
                pieces[place, scene, -1 if own is None else list(PARTS).index(own)] += amount
            else:
                pieces[place, scene, :-1] += amount * shares
    return pieces


def _by_part(pieces: Values) -> tuple[Piece, ...]:
    """The sums over terms and scenes, by part."""
    *parts, rest = pieces.sum(axis=(0, 1)).tolist()
    return (*map(Piece, PARTS.values(), parts), Piece(UNATTRIBUTED, rest, attributed=False))


def _causes(
    scenes: Sequence[str], a: str, b: str, pieces: Values, known: Statistics
) -> tuple[tuple[Piece, ...], float]:
    """The difference by cause, and the mean of the common shifts."""
    amounts = pieces.sum(axis=(0, 2)).tolist()
    found = [common_shift(scene, a, b, known, amount) for scene, amount in zip(scenes, amounts, strict=True)]
    shifts = [shift for shift in found if shift is not None]
    shifted = np.array([shift is not None for shift in found])
    causes = (Piece(SHIFT, float(pieces[:, shifted].sum())), *_by_part(pieces[:, ~shifted]))
    return causes, float(np.mean(shifts)) if shifts else 0.0


def _undivided(score: WeightedScore, rows: Sequence[int], pieces: Values) -> tuple[tuple[Claim, ...], list[str]]:
    """Why terms cannot be attributed to regions, and what `evaluate --metrics` would have to compute on the parts.

    That is the metric of a term, or its columns where it has pixels of its own.
    """
    costs = score.costs
    reasons: dict[str, list[str]] = {"sparse": [], "not-stored": [], "not-pixels": []}
    lacking: list[str] = []
    for (term, entry), rest in zip(score.terms.items(), pieces[:, :, -1], strict=True):
        if not rest.any():
            continue
        if not np.isfinite(costs.matrix[rows][:, entry.flat]).all():
            reasons["sparse"].append(term)
        elif any(part_columns(costs.column_at(flat)) for flat in entry.flat):
            reasons["not-stored"].append(term)
            column = costs.column_at(entry.flat[0])
            own = column.declared.metric.region is not None
            lacking += map(str, part_columns(column).values()) if own else [column.metric]
        else:
            reasons["not-pixels"].append(term)
    claims = (
        Claim("unattributed-terms", tuple(terms), texts={"reason": why}) for why, terms in reasons.items() if terms
    )
    return tuple(claims), list(dict.fromkeys(lacking))
