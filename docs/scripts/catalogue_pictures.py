"""Draw what the catalogue shows beside each metric: an example picture and its response to controlled damage.

python docs/scripts/catalogue_pictures.py
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import cv2
from PIL import Image
from small_images import save_small

import stereogauge as sg
from stereogauge.errors import StereogaugeError
from stereogauge.figures.pictures import render
from stereogauge.matching.result import MatchResult
from stereogauge.metrics.declaration import Metric
from stereogauge.metrics.registry import metrics
from stereogauge.study.figures import response_curves_data
from stereogauge.study.run import run_study

IMAGES = Path(__file__).parents[1] / "images"
WIDTH = 300
EXAMPLES = {"bad": "bad@2", "bad-valid": "bad-valid@2", "wrong": "wrong@2", "quantile": "quantile@95"}
RESPONSES = (
    "bad@1", "mae", "rms", "mre", "sze", "quantile@95", "ssim", "r-ssim", "d-fat", "d-thin", "d-fuz", "p-bump", "p-off",
    "p-mis", "f-por", "f-frag", "f-missing", "f-fat", "smooth-gradient@1", "smooth-acceleration@1",
)  # fmt: skip


def example(metric: Metric, scene: sg.Scene, result: MatchResult, seen: set[str]) -> bool:
    """The picture behind one metric on a real map; False where it has none, or one that another metric has too."""
    name = EXAMPLES.get(metric.id) or (metric.examples[0] if metric.examples else metric.id)
    if not metric.has_picture:
        return False
    try:
        picture = sg.picture(result.disparity, scene, name, right_estimate=result.right_disparity)
    except StereogaugeError as reason:
        sys.stderr.write(f"{name}: {reason}\n")
        return False
    if picture.title in seen:
        return False
    seen.add(picture.title)
    colours = render(picture)
    height = round(colours.shape[0] * WIDTH / colours.shape[1])
    shown = cv2.resize(colours, (WIDTH, height), interpolation=cv2.INTER_AREA)
    stream = io.BytesIO()
    Image.fromarray(shown).save(stream, "png")
    save_small(stream.getvalue(), IMAGES / f"guide-picture-{metric.id}.png", colours=40)
    return True


def responses() -> None:
    """One response curve per metric."""
    scene = next(iter(sg.load_dataset("synthetic:anatomy")))
    study = run_study(scene, RESPONSES)
    for column in study.metrics:
        figure = response_curves_data(study, [column])
        name = column.partition(":")[0].partition("@")[0]
        save_small(figure, IMAGES / f"guide-response-{name}.png", dpi=90, colours=64)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    motorcycle = sg.load_dataset("motorcycle")["motorcycle"]
    matched = sg.match(motorcycle.left, motorcycle.right, "sgm", ndisp=70)
    titles: set[str] = set()
    drawn = sum(example(metric, motorcycle, matched, titles) for metric in metrics().values())
    sys.stderr.write(f"{drawn} pictures\n")
    responses()
