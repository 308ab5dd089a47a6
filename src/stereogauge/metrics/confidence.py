"""How well a result's confidence map foretells its errors; `stereogauge confidence` shows the curves behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from stereogauge.confidence_measures.error_curves import AnyCurve, sparsify_by
from stereogauge.confidence_measures.sparsification import LOWER_LIMIT, ErrorKind, Rule, SparsificationCurve, sparsify
from stereogauge.metrics.costs import Costs, above, absolute_costs
from stereogauge.metrics.declaration import Metric, Missing, Parameter, Statistic
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture
from stereogauge.metrics.pooling import emptiness

THRESHOLD = Parameter("threshold", unit="px", description="error above which a pixel is bad", low=0.0)
SOURCE = "Hu, Mordohai 2012; Haeusler, Klette 2012"


def _curve(m: Measurement, region: str, threshold: float, missing: Literal["bad", "excluded"]) -> SparsificationCurve:
    """The curve that all metrics of one region, threshold and reading of missing estimates share."""
    return m.once(
        f"sparsification {region} {threshold!r} {missing}",
        lambda: sparsify(m.confidence, m.estimate, m.gt, threshold, m.mask(region), missing=missing),
    )


def _picture(m: Measurement, *_: float) -> Picture:
    values = m.confidence
    known = values[np.isfinite(values)]
    low, high = np.percentile(known, (2, 98)) if known.size else (0.0, 1.0)
    limits = (float(low), max(float(high), float(low) + 1e-6))
    return Picture("confidence, low = sure", values, "sequential", "", limits, missing=np.isnan(values))


def _costs(missing: Literal["bad", "excluded"]) -> Callable[..., Costs]:
    """A bad pixel costs by how early a sparsification meets it: the share of pixels that are at most as confident.

    A good pixel costs nothing, nor does a bad one that is the least confident of all.
    """

    def costs(m: Measurement, region: str, threshold: float) -> Costs:
        errors = absolute_costs(m)
        bad = above(errors, threshold)
        inside = m.mask(region) & np.isfinite(m.gt)
        if missing == "bad" and m.protocol.invalid != "exclude":
            bad |= np.isnan(errors)
        else:
            inside = inside & np.isfinite(errors)
        doubts = np.where(np.isnan(m.confidence), np.inf, m.confidence)[inside]
        order = np.sort(doubts)
        later = 1.0 - np.searchsorted(order, doubts, side="left") / max(1, order.size)
        found = np.full(errors.shape, np.nan)
        found[inside] = np.where(bad[inside], later, 0.0)
        return found

    return costs


def _sparsification(
    id_: str,
    name: str,
    formula: str,
    meaning: str,
    read: Callable[[SparsificationCurve], float],
    direction: Literal["lower", "higher"] = "lower",
    least: float = 0.0,
    missing: Missing = "left out",
) -> Metric:
    policy = missing

    def compute(m: Measurement, region: str, threshold: float) -> Statistic:
        counted = policy == "counted" and m.protocol.invalid != "exclude"
        inside = m.mask(region) & np.isfinite(m.gt)
        missing = int(np.count_nonzero(inside & ~np.isfinite(m.estimate)))
        size = int(np.count_nonzero(inside))
        if size == (0 if counted else missing):
            return Statistic.empty(emptiness(region, size), missing)
        curve = _curve(m, region, threshold, "bad" if counted else "excluded")
        value = read(curve)
        if np.isnan(value):
            return Statistic.empty(f"region {region!r} has only good or only bad pixels", missing)
        return Statistic.of_value(value, curve.pixels, missing)

    compute.__doc__ = meaning
    return Metric(
        id=id_,
        name=name,
        formula=formula,
        unit="",
        source=SOURCE,
        compute=compute,
        missing=missing,
        direction=direction,
        range=(least, 1.0),
        parameters=(THRESHOLD,),
        needs=frozenset({"gt", "confidence"}),
        picture=_picture,
        costs=_costs("bad" if missing == "counted" else "excluded"),
        examples=(f"{id_}@3",),
        version=2 if missing == "counted" else 3,
    )


auc = _sparsification(
    "sparsification-auc",
    "Area under the sparsification curve",
    r"\int_0^1 \frac{\mathrm{bad}(\varphi)}{\varphi N} \, d\varphi",
    "Mean share of bad pixels among the most confident ones, over all densities φ; ties in expectation. A missing "
    "estimate is a bad pixel.",
    lambda curve: curve.auc,
    missing="counted",
)
ause = _sparsification(
    "ause",
    "Area above the oracle",
    r"\mathrm{AUC} - \mathrm{AUC}_{\mathrm{oracle}}",
    "How much larger the area is than that of an order which removes every bad pixel first; 0 is perfect. Over the "
    "estimated pixels, since a confidence foretells the error of an estimate.",
    lambda curve: curve.ause,
)
aurg = _sparsification(
    "aurg",
    "Area below random",
    r"\mathrm{AUC}_{\mathrm{random}} - \mathrm{AUC}",
    "How much smaller the area is than that of a random order; 0 is no better than chance, less is worse. Over the "
    "estimated pixels.",
    lambda curve: curve.aurg,
    "higher",
    -1.0,
)
roc = _sparsification(
    "confidence-roc",
    "ROC area of the confidence",
    r"P(\Gamma_{\mathrm{bad}} > \Gamma_{\mathrm{good}})",
    "Probability that a random bad pixel is less confident than a random good one, ties counting half. Over the "
    "estimated pixels.",
    lambda curve: curve.roc_auc,
    "higher",
)


ILG = "Ilg et al. 2018; Poggi et al. 2020"
NEEDS = frozenset({"gt", "confidence"})
DISTANCE = (
    Parameter("tolerance", unit="m", description="largest depth error that is good", low=0.0, high=1e6),
    Parameter("limit", unit="px", description="disparity error that is always good", low=0.0, default=LOWER_LIMIT),
)
AREAS: dict[str, tuple[str, Callable[[AnyCurve], float], Literal["lower", "higher"]]] = {
    "ause": ("Area above the oracle", lambda curve: curve.ause, "lower"),
    "aurg": ("Area below random", lambda curve: curve.aurg, "higher"),
}


def _by_error(area: str, suffix: str, rule: Rule, words: str, unit: str, parameters: tuple[Parameter, ...]) -> Metric:
    """`ause-mae` and its like: an area of the curve of another error than bad pixels."""
    name, read, direction = AREAS[area]

    def compute(m: Measurement, region: str, *arguments: float) -> Statistic:
        inside = m.mask(region) & np.isfinite(m.gt)
        missing = int(np.count_nonzero(inside & ~np.isfinite(m.estimate)))
        size = int(np.count_nonzero(inside))
        if size == missing:
            return Statistic.empty(emptiness(region, size), missing)
        kind = ErrorKind(rule, *arguments)
        curve = m.once(
            f"sparsification {region} {kind}",
            lambda: sparsify_by(
                kind,
                m.confidence,
                m.estimate,
                m.gt,
                m.mask(region),
                calibration=m.scene.calibration,
                missing="excluded",
            ),
        )
        return Statistic.of_value(read(curve), curve.pixels, missing)

    compute.__doc__ = f"{name} when the curve follows {words}. Over the estimated pixels."
    return Metric(
        id=f"{area}-{suffix}",
        name=f"{name}, {words}",
        formula=r"\int_0^1 \mathrm{error}(\varphi)\,d\varphi - \mathrm{AUC}_{\mathrm{oracle}}"
        if area == "ause"
        else r"\mathrm{error}(1) - \int_0^1 \mathrm{error}(\varphi)\,d\varphi",
        unit=unit,
        source=ILG,
        compute=compute,
        missing="left out",
        scaling="length" if unit == "px" else "none",
        direction=direction,
        range=(0.0 if area == "ause" else -np.inf if unit else -1.0, np.inf if unit else 1.0),
        parameters=parameters,
        needs=NEEDS | {"calibration"} if rule == "bad-z" else NEEDS,
        picture=_picture,
        examples=(f"{area}-{suffix}@1", f"{area}-{suffix}@1,3") if parameters else (f"{area}-{suffix}",),
    )


ause_mae, aurg_mae = (_by_error(area, "mae", "mae", "the mean error", "px", ()) for area in AREAS)
ause_rms, aurg_rms = (_by_error(area, "rms", "rms", "the root mean squared error", "px", ()) for area in AREAS)
ause_d1, aurg_d1 = (_by_error(area, "d1", "d1", "the share of D1 outliers", "", ()) for area in AREAS)
ause_z, aurg_z = (_by_error(area, "z", "bad-z", "the share of bad depths", "", DISTANCE) for area in AREAS)
