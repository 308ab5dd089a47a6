"""How well a result's confidence map predicts its errors, and whether one of probabilities or deviations is calibrated.

`stereogauge confidence` shows the curves behind these scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from stereogauge.confidence_measures.calibration import (
    Distribution,
    Reliability,
    calibrate_probability,
    calibrate_sigma,
)
from stereogauge.confidence_measures.sparsification import MAGNITUDES, ErrorKind, Rule, sparsify_by
from stereogauge.errors import NotApplicable
from stereogauge.metrics.costs import Costs, emptiness
from stereogauge.metrics.declaration import Direction, Metric, Missing, Parameter, Statistic
from stereogauge.metrics.depth import DISTANCE
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture

NEEDS = frozenset({"gt", "confidence"})
THRESHOLD = Parameter("threshold", unit="px", description="error above which a pixel is bad", low=0.0)
LEVEL = Parameter("level", unit="%", description="probability of the interval", low=0.0, high=100.0)
PARAMETERS: Mapping[Rule, tuple[tuple[Parameter, ...], tuple[str, ...]]] = {
    "bad": ((THRESHOLD,), ("@3",)),
    "bad-z": (DISTANCE, ("@1", "@1,3")),
}
"""Of the rules that have any: the parameters, and examples of their numbers."""
HU = "Hu, Mordohai 2012; Haeusler, Klette 2012"
ILG = "Ilg et al. 2018; Poggi et al. 2020"
KULESHOV = "Kuleshov, Fenner & Ermon 2018"
GUO = "Guo et al. 2017"
MissingPixels = Literal["bad", "excluded"]


def _sizes(m: Measurement, region: str) -> tuple[int, int]:
    """How many known pixels a region has, and how many of them are without an estimate."""
    inside = m.mask(region) & np.isfinite(m.gt)
    return int(np.count_nonzero(inside)), int(np.count_nonzero(inside & ~np.isfinite(m.estimate)))


def _picture(m: Measurement, *_: float) -> Picture:
    values = m.confidence
    known = values[np.isfinite(values)]
    low, high = np.percentile(known, (2, 98)) if known.size else (0.0, 1.0)
    limits = (float(low), max(float(high), float(low) + 1e-6))
    return Picture("confidence, low = sure", values, "sequential", "", limits, missing=np.isnan(values))


def _costs(rule: Rule, missing: MissingPixels) -> Callable[..., Costs]:
    """An error costs by how early a sparsification meets it: its size (1 if bad) · share of pixels not more confident.

    A right pixel costs nothing, nor does an error that is the least confident pixel of all.
    """

    def costs(m: Measurement, region: str, *arguments: float) -> Costs:
        inside = m.mask(region) & np.isfinite(m.gt)
        if missing == "excluded" or m.protocol.invalid == "exclude":
            inside &= np.isfinite(m.error)
        doubts = np.where(np.isnan(m.confidence), np.inf, m.confidence)[inside]
        order = np.sort(doubts)
        later = 1.0 - np.searchsorted(order, doubts, side="left") / max(1, order.size)
        found = np.full(m.scene.shape, np.nan)
        found[inside] = later * _errors(m, ErrorKind(rule, *arguments))[inside]
        return found

    return costs


def _errors(m: Measurement, kind: ErrorKind) -> Costs:
    """What a sparsification adds up: 1 for a bad pixel and 0 for a good one, or the size of the error."""
    if kind.magnitude:
        return np.abs(m.error).astype(np.float64) ** (2 if kind.rule == "rms" else 1)
    return kind.bad(m.estimate, m.gt, m.scene.calibration).astype(np.float64)


def _of_curve(
    identifier: str,
    name: str,
    formula: str,
    meaning: str,
    read: Callable[[Any], float],
    direction: Direction = "lower",
    rule: Rule = "bad",
    missing: Missing = "left out",
) -> Metric:
    """A metric of a sparsification curve; all of one region, error and reading of missing estimates share the curve."""
    counting = missing == "counted"

    def area(m: Measurement, region: str, *arguments: float) -> Statistic:
        counted = counting and m.protocol.invalid != "exclude"
        size, lost = _sizes(m, region)
        if size == (0 if counted else lost):
            return Statistic.empty(emptiness(region, size), lost)
        kind = ErrorKind(rule, *arguments)
        as_: MissingPixels = "bad" if counted else "excluded"
        maps = (m.confidence, m.estimate, m.gt, m.mask(region))
        curve = m.once(
            f"sparsification {region} {kind!r} {as_}",
            lambda: sparsify_by(kind, *maps, calibration=m.scene.calibration, missing=as_),
        )
        value = read(curve)
        if np.isnan(value):
            return Statistic.empty(f"region {region!r} has only good or only bad pixels", lost)
        return Statistic.of_value(value, curve.pixels, lost)

    area.__doc__ = meaning
    largest = np.inf if rule in MAGNITUDES else 1.0
    parameters, examples = PARAMETERS.get(rule, ((), ("",)))
    return Metric(
        id=identifier,
        name=name,
        formula=formula,
        unit="px" if rule in MAGNITUDES else "",
        source=HU if rule == "bad" else ILG,
        missing=missing,
        direction=direction,
        range=(-largest if identifier.startswith("aurg") else 0.0, largest),
        parameters=parameters,
        needs=NEEDS | {"calibration"} if rule == "bad-z" else NEEDS,
        costs=_costs(rule, "bad" if counting else "excluded"),
        picture=_picture,
        examples=tuple(f"{identifier}{numbers}" for numbers in examples),
        version=2 if counting else 3 if parameters else 1,
        function=area,
    )


auc = _of_curve(
    "sparsification-auc",
    "Area under the sparsification curve",
    r"\int_0^1 \frac{\mathrm{bad}(\varphi)}{\varphi N} \, d\varphi",
    "Mean share of bad pixels among the most confident ones, over all densities φ; ties in expectation. A missing "
    "estimate is a bad pixel.",
    lambda curve: curve.auc,
    missing="counted",
)
ause = _of_curve(
    "ause",
    "Area above the oracle",
    r"\mathrm{AUC} - \mathrm{AUC}_{\mathrm{oracle}}",
    "How much larger the area is than that of an order which removes every bad pixel first; 0 is perfect. Over the "
    "estimated pixels, since a confidence predicts the error of an estimate.",
    lambda curve: curve.ause,
)
aurg = _of_curve(
    "aurg",
    "Area below random",
    r"\mathrm{AUC}_{\mathrm{random}} - \mathrm{AUC}",
    "How much smaller the area is than that of a random order; 0 is no better than chance, less is worse. Over the "
    "estimated pixels.",
    lambda curve: curve.aurg,
    "higher",
)
roc = _of_curve(
    "confidence-roc",
    "ROC area of the confidence",
    r"P(\Gamma_{\mathrm{bad}} > \Gamma_{\mathrm{good}})",
    "Probability that a random bad pixel is less confident than a random good one, ties counting half. Over the "
    "estimated pixels.",
    lambda curve: curve.roc_auc,
    "higher",
)


def _by_error(rule: Rule, words: str) -> tuple[Metric, Metric]:
    """`ause-mae`, `aurg-mae` and their like: areas of the curve of another error than bad pixels."""
    suffix, end = rule.removeprefix("bad-"), f" when the curve follows {words}. Over the estimated pixels."
    area = r"\int_0^1 \mathrm{error}(\varphi)\,d\varphi"
    above = rf"{area} - \mathrm{{AUC}}_{{\mathrm{{oracle}}}}"
    below = rf"\mathrm{{error}}(1) - {area}"
    return (
        _of_curve(f"ause-{suffix}", f"{ause.name}, {words}", above, f"{ause.name}{end}", lambda c: c.ause, rule=rule),
        _of_curve(
            f"aurg-{suffix}", f"{aurg.name}, {words}", below, f"{aurg.name}{end}", lambda c: c.aurg, "higher", rule
        ),
    )


ause_mae, aurg_mae = _by_error("mae", "the mean error")
ause_rms, aurg_rms = _by_error("rms", "the root mean squared error")
ause_d1, aurg_d1 = _by_error("d1", "the share of D1 outliers")
ause_z, aurg_z = _by_error("bad-z", "the share of bad depths")


def _declared_values(m: Measurement, kind: str) -> np.ndarray:
    source = m.confidence_source
    if source.kind != kind:
        raise NotApplicable(
            f'the confidence map is not declared as a {kind}: write kind = "{kind}" under [confidence] in results.toml '
            "(confidence_kind of a ResultSet)"
        )
    return source.values()


def _calibration(
    identifier: str,
    name: str,
    formula: str,
    meaning: str,
    source: str,
    reliability: Callable[..., Reliability],
    read: Callable[..., float],
    parameters: tuple[Parameter, ...] = (),
    direction: Direction = "lower",
    example: str = "",
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Metric:
    """A metric of how far stated deviations or probabilities agree with what is observed."""

    def calibrated(m: Measurement, region: str, *arguments: float) -> Statistic:
        size, missing = _sizes(m, region)
        if size == missing:
            return Statistic.empty(emptiness(region, size), missing)
        found = reliability(m, region, *arguments)
        return Statistic.of_value(read(found, *arguments), found.count, missing)

    calibrated.__doc__ = meaning
    return Metric(
        id=identifier,
        name=name,
        formula=formula,
        unit="",
        source=source,
        missing="left out",
        direction=direction,
        range=bounds,
        parameters=parameters,
        needs=NEEDS,
        examples=(f"{identifier}{example}",),
        function=calibrated,
    )


def _of_sigma(distribution: Distribution) -> tuple[Metric, Metric, Metric]:
    title = distribution.capitalize()

    def reliability(m: Measurement, region: str, *level: float) -> Reliability:
        levels = {"levels": (level[0] / 100,)} if level else {}
        values = _declared_values(m, "sigma")
        return m.once(
            f"calibration {distribution} {region} {level}",
            lambda: calibrate_sigma(values, m.estimate, m.gt, m.mask(region), distribution=distribution, **levels),
        )

    return (
        _calibration(
            f"ece-{distribution}",
            f"Calibration error of {title} intervals",
            r"\mathrm{mean}_p |\mathrm{observed}(p) - p|,\; p = 5 … 95\,\%",
            "Mean distance between the probability of an interval around the estimate and the share of true "
            f"disparities in it, for maps of standard deviations taken as {title}; 0 is calibrated.",
            KULESHOV,
            reliability,
            lambda found: found.ece,
        ),
        _calibration(
            f"nll-{distribution}",
            f"{title} negative log-likelihood",
            r"\log(\sigma\sqrt{2\pi}) + e^2/2\sigma^2"
            if distribution == "gaussian"
            else r"\log 2b + |e|/b,\; b = \sigma/\sqrt2",
            f"Mean negative logarithm of the {title} density that a map of standard deviations gives to the errors, "
            "in nats; low where errors and deviations are small and fit.",
            KULESHOV,
            reliability,
            lambda found: found.nll,
            bounds=(-np.inf, np.inf),
        ),
        _calibration(
            f"coverage-{distribution}",
            f"Coverage of a {title} interval",
            r"\mathrm{observed}(p) - p",
            "Share of true disparities inside the interval that should hold p % of them, less p; positive where the "
            "deviations are larger than they need to be.",
            KULESHOV,
            reliability,
            lambda found, level: found.observed[0] - level / 100,
            parameters=(LEVEL,),
            direction="zero",
            example="@95",
            bounds=(-1.0, 1.0),
        ),
    )


def _of_probability(m: Measurement, region: str, threshold: float) -> Reliability:
    values = _declared_values(m, "probability")
    return m.once(
        f"calibration probability {region} {threshold!r}",
        lambda: calibrate_probability(values, m.estimate, m.gt, m.mask(region), threshold=threshold),
    )


ece_gaussian, nll_gaussian, coverage_gaussian = _of_sigma("gaussian")
ece_laplace, nll_laplace, coverage_laplace = _of_sigma("laplace")
ece = _calibration(
    "ece",
    "Calibration error of probabilities",
    r"\sum_b \tfrac{n_b}{N} |\mathrm{good}_b - \bar p_b|",
    "Mean distance between the probability that a pixel is good and the share of good pixels, in ten bins; 0 is "
    "calibrated.",
    GUO,
    _of_probability,
    lambda found, threshold: found.ece,
    parameters=(THRESHOLD,),
    example="@3",
)
nll = _calibration(
    "nll",
    "Negative log-likelihood of probabilities",
    r"-\tfrac1N \sum \log p(\mathrm{what\ happened})",
    "Mean negative logarithm of the probability that the map gave to what happened, good or bad, in nats.",
    GUO,
    _of_probability,
    lambda found, threshold: found.nll,
    parameters=(THRESHOLD,),
    example="@3",
    bounds=(0.0, np.inf),
)
