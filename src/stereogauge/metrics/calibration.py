"""Whether a result's confidence map, declared as standard deviation or probability, means what it says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stereogauge.confidence_measures.calibration import (
    Distribution,
    Reliability,
    calibrate_probability,
    calibrate_sigma,
)
from stereogauge.errors import NotApplicable
from stereogauge.metrics.declaration import Direction, Metric, Parameter, Statistic
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.pooling import emptiness

NEEDS = frozenset({"gt", "confidence"})
THRESHOLD = Parameter("threshold", unit="px", description="error above which a pixel is bad", low=0.0)
LEVEL = Parameter("level", unit="%", description="probability of the interval", low=0.0, high=100.0)
KULESHOV = "Kuleshov, Fenner & Ermon 2018"
GUO = "Guo et al. 2017"


def _values(m: Measurement, kind: str) -> np.ndarray:
    source = m.confidence_source
    if source.kind != kind:
        raise NotApplicable(
            f'the confidence map is not declared as a {kind}: write kind = "{kind}" under [confidence] in results.toml '
            "(confidence_kind of a ResultSet)"
        )
    return source.values()


def _missing(m: Measurement, region: str) -> tuple[int, int]:
    inside = m.mask(region) & np.isfinite(m.gt)
    return int(np.count_nonzero(inside)), int(np.count_nonzero(inside & ~np.isfinite(m.estimate)))


def _metric(
    identifier: str,
    name: str,
    formula: str,
    meaning: str,
    source: str,
    found: Callable[..., Reliability],
    read: Callable[..., float],
    parameters: tuple[Parameter, ...] = (),
    direction: Direction = "lower",
    example: str = "",
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Metric:
    def compute(m: Measurement, region: str, *arguments: float) -> Statistic:
        size, missing = _missing(m, region)
        if size == missing:
            return Statistic.empty(emptiness(region, size), missing)
        reliability = found(m, region, *arguments)
        return Statistic.of_value(read(reliability, *arguments), reliability.count, missing)

    compute.__doc__ = meaning
    return Metric(
        id=identifier,
        name=name,
        formula=formula,
        unit="",
        source=source,
        compute=compute,
        missing="left out",
        direction=direction,
        range=bounds,
        parameters=parameters,
        needs=NEEDS,
        examples=(f"{identifier}{example}",),
    )


def _of_sigma(distribution: Distribution) -> tuple[Metric, Metric, Metric]:
    title = distribution.capitalize()

    def found(m: Measurement, region: str, *level: float) -> Reliability:
        levels = {"levels": (level[0] / 100,)} if level else {}
        values = _values(m, "sigma")
        return m.once(
            f"calibration {distribution} {region} {level}",
            lambda: calibrate_sigma(values, m.estimate, m.gt, m.mask(region), distribution=distribution, **levels),
        )

    return (
        _metric(
            f"ece-{distribution}",
            f"Calibration error of {title} intervals",
            r"\mathrm{mean}_p |\mathrm{observed}(p) - p|,\; p = 5 … 95\,\%",
            "Mean distance between the probability of an interval around the estimate and the share of true "
            f"disparities in it, for maps of standard deviations taken as {title}; 0 is calibrated.",
            KULESHOV,
            found,
            lambda reliability: reliability.ece,
        ),
        _metric(
            f"nll-{distribution}",
            f"{title} negative log-likelihood",
            r"\log(\sigma\sqrt{2\pi}) + e^2/2\sigma^2"
            if distribution == "gaussian"
            else r"\log 2b + |e|/b,\; b = \sigma/\sqrt2",
            f"Mean negative logarithm of the {title} density that a map of standard deviations gives to the errors, "
            "in nats; low where errors and deviations are small and fit.",
            KULESHOV,
            found,
            lambda reliability: reliability.nll,
            bounds=(-np.inf, np.inf),
        ),
        _metric(
            f"coverage-{distribution}",
            f"Coverage of a {title} interval",
            r"\mathrm{observed}(p) - p",
            "Share of true disparities inside the interval that should hold p % of them, less p; positive where the "
            "deviations are larger than they need to be.",
            KULESHOV,
            found,
            lambda reliability, level: reliability.observed[0] - level / 100,
            parameters=(LEVEL,),
            direction="zero",
            example="@95",
            bounds=(-1.0, 1.0),
        ),
    )


def _of_probability(m: Measurement, region: str, threshold: float) -> Reliability:
    values = _values(m, "probability")
    return m.once(
        f"calibration probability {region} {threshold!r}",
        lambda: calibrate_probability(values, m.estimate, m.gt, m.mask(region), threshold=threshold),
    )


ece_gaussian, nll_gaussian, coverage_gaussian = _of_sigma("gaussian")
ece_laplace, nll_laplace, coverage_laplace = _of_sigma("laplace")
ece = _metric(
    "ece",
    "Calibration error of probabilities",
    r"\sum_b \tfrac{n_b}{N} |\mathrm{good}_b - \bar p_b|",
    "Mean distance between the probability that a pixel is good and the share of good pixels, in ten bins; 0 is "
    "calibrated.",
    GUO,
    _of_probability,
    lambda reliability, threshold: reliability.ece,
    parameters=(THRESHOLD,),
    example="@3",
)
nll = _metric(
    "nll",
    "Negative log-likelihood of probabilities",
    r"-\tfrac1N \sum \log p(\mathrm{what\ happened})",
    "Mean negative logarithm of the probability that the map gave to what happened, good or bad, in nats.",
    GUO,
    _of_probability,
    lambda reliability, threshold: reliability.nll,
    parameters=(THRESHOLD,),
    example="@3",
    bounds=(0.0, np.inf),
)
