"""How well a confidence map foretells errors, as scores: `stereogauge confidence --store` computes and stores them."""

from __future__ import annotations

from typing import Literal

from stereogauge.metrics.declaration import Metric, Parameter, Statistic
from stereogauge.metrics.measurement import Measurement

THRESHOLD = Parameter("threshold", unit="px", description="error above which a pixel is bad", low=0.0)
SOURCE = "Hu, Mordohai 2012; Haeusler, Klette 2012"


def _sparsification(
    id_: str, name: str, formula: str, meaning: str, direction: Literal["lower", "higher"] = "lower"
) -> Metric:
    def compute(m: Measurement, region: str, threshold: float) -> Statistic:
        return Statistic.empty("a disparity map alone has no confidence; see `stereogauge confidence`")

    compute.__doc__ = meaning
    return Metric(
        id=id_,
        name=name,
        formula=formula,
        unit="",
        source=SOURCE,
        compute=compute,
        direction=direction,
        range=(0.0, 1.0),
        parameters=(THRESHOLD,),
        needs=frozenset({"gt", "confidence"}),
        examples=(f"{id_}@3",),
    )


auc = _sparsification(
    "sparsification-auc",
    "Area under the sparsification curve",
    r"\int_0^1 \frac{\mathrm{bad}(\varphi)}{\varphi N} \, d\varphi",
    "Mean share of bad pixels among the most confident ones, over all densities φ; ties in expectation.",
)
ause = _sparsification(
    "ause",
    "Area above the oracle",
    r"\mathrm{AUC} - \mathrm{AUC}_{\mathrm{oracle}}",
    "How much larger the area is than that of an order which removes every bad pixel first; 0 is perfect.",
)
aurg = _sparsification(
    "aurg",
    "Area below random",
    r"\mathrm{AUC}_{\mathrm{random}} - \mathrm{AUC}",
    "How much smaller the area is than that of a random order; 0 is no better than chance.",
    "higher",
)
roc = _sparsification(
    "confidence-roc",
    "ROC area of the confidence",
    r"P(\Gamma_{\mathrm{bad}} > \Gamma_{\mathrm{good}})",
    "Probability that a random bad pixel is less confident than a random good one, ties counting half.",
    "higher",
)
