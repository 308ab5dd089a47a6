"""Galleries of the metrics' pictures, best algorithm first."""

from __future__ import annotations

import numpy as np

from stereogauge.figures.data.galleries import Gallery, gallery_data
from stereogauge.figures.pictures import disparity_limits, render, render_disparity
from stereogauge.metrics.declaration import parse_metric
from stereogauge.reproduction.material import Material


def metric_gallery(material: Material, scene: str, metric: str, most: int = 5) -> Gallery:
    """Disparity and metric picture of up to `most` algorithms on a scene, evenly chosen from best to worst."""
    cube = material.hci_scores
    index = next(i for i, column in enumerate(cube.columns) if column.metric == metric)
    order = np.argsort(cube.values[:, cube.scenes.index(scene), index], kind="stable")
    chosen = [
        cube.algorithms[order[i]] for i in np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(int)
    ]
    limits = disparity_limits(material.hci_data[scene].gt)
    bound = parse_metric(metric)
    pictures = {
        name: (
            render_disparity(material.hci_maps[name][scene], limits),
            render(bound.picture(material.hci_measurement(name, scene))),
        )
        for name in chosen
    }
    return gallery_data(cube, scene, str(cube.columns[index]), pictures, others=("rms:nonocc",))
