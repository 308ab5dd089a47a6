"""Every metric under every protocol on small scenes: the digits that a change of the code must not change.

`python -m tests.conformance.digits` writes `digits.csv`; `test_digits.py` compares. Write the table again only when a
metric's `version` is raised, and keep the difference small enough to read.
"""

from __future__ import annotations

import csv
import io
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import stereogauge as sg
from stereogauge import Protocol
from stereogauge.metrics.registry import metrics
from stereogauge.protocol import preset_names

TABLE = Path(__file__).with_name("digits.csv")
FIELDS = ("scene", "metric", "region", "protocols", "value", "sum", "count", "missing")
LETTERS = "protocol"
"""What the first field says of the rows that name the letters of the field `protocols`."""
REGIONS = ("all", "disc", "planar|textureless")
OF_PROBABILITIES = ("ece@3", "nll@3")
INTEREST = ("d-fat:near", "p-off:near", "f-frag:nonocc", "d-fuz:near", "f-por:near", "f-fat:near", "d1-fg:near")
CHOICES = {
    "default/exclude": {"invalid": "exclude"},
    "default/fill": {"invalid": "fill"},
    "default/literal": {"sigma_z.literal": True},
    "hci/exclude": {"invalid": "exclude"},
}
"""Further choices of presets, by name: what the presets themselves do not reach."""
OF_PROJECTS = (
    *("argoverse", "eigen-depth", "gwcnet", "hci-4dlf", "igev", "kitti-2012-reflective", "leastereo", "openstereo"),
    *("psmnet", "raft-stereo", "raft-stereo-things", "scared", "stereo-toolbox"),
)
Map = NDArray[np.float32]


def _noise(shape: tuple[int, int], seed: int) -> NDArray[np.float64]:
    """Numbers in [0, 1) from integer arithmetic alone, the same on every machine."""
    numbers = np.arange(shape[0] * shape[1], dtype=np.uint64) + np.uint64(seed * 1_000_003 + 1)
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (29, 0xC4CEB9FE1A85EC53), (32, 0x9E3779B97F4A7C15)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return ((numbers >> np.uint64(40)).astype(np.float64) / 2.0**24).reshape(shape)


def damaged(truth: Map, seed: int) -> Map:
    """An estimate with small errors, a smeared border, gross errors, exact pixels and holes."""
    known = np.nan_to_num(truth, nan=3.0).astype(np.float64)
    chance, size = _noise(truth.shape, seed), _noise(truth.shape, seed + 1)
    estimate = known + np.where(chance < 0.7, (size - 0.45) * 1.5, 0.0)
    smeared = np.roll(known, 2, axis=1)
    estimate = np.where((chance > 0.5) & (np.abs(smeared - known) > 1), smeared, estimate)
    estimate = np.where(chance > 0.93, size * 30, estimate)
    estimate = np.where((chance > 0.87) & (chance < 0.9), np.nan, estimate)
    estimate[: truth.shape[0] // 9, -truth.shape[1] // 7 :] = np.nan
    return np.asarray(np.round(estimate * 64) / 64, np.float32)


def _colours(truth: Map, seed: int, levels: int = 200) -> NDArray[np.uint8]:
    grey = 20 + _noise(truth.shape, seed) * levels * (np.nan_to_num(truth) > 5)
    return np.stack([grey, grey * 0.7 + 30, 255 - grey], axis=-1).astype(np.uint8)


def _blocks() -> sg.Scene:
    """Slanted planes, a box, a dome, poles and unknown pixels; everything that a metric may need."""
    rows, columns = np.mgrid[:90, :140].astype(np.float64)
    truth = 4 + columns / 40 + rows / 64
    truth[20:70, 30:66] = 14 - columns[20:70, 30:66] / 32
    dome = (rows - 50) ** 2 + (columns - 105) ** 2
    truth = np.where(dome < 400, 12 + (400 - dome) / 128, truth)
    truth[8:80, 80:82] = truth[4:60, 128:131] = 18.0
    truth[84:86, 10:60] = np.nan
    truth[30:32, 32:34] = 0.0
    truth = np.asarray(np.round(truth * 32) / 32, np.float32)
    fine = np.repeat(np.repeat(truth, 2, axis=0), 2, axis=1)
    fine[1::2, 1::2] += np.float32(0.75)
    drawn = np.zeros(truth.shape, np.bool_)
    drawn[25:65, 34:60] = True
    return sg.Scene(
        "blocks",
        gt=truth,
        left=_colours(truth, 5),
        right=_colours(np.roll(truth, -6, axis=1), 6),
        gt_fine=fine,
        calibration=sg.Calibration(focal=120.0, baseline=0.2, doffs=1.5, ndisp=32),
        masks={"fg": drawn, "bg": ~drawn},
        views={0.5: _colours(truth, 7), 2.0: _colours(truth, 8)},
        resolution=0.25,
        border=3,
    )


def _slope() -> sg.Scene:
    """A slope, a step and two poles without calibration; its planes are drawn, and no image is needed."""
    rows, columns = np.mgrid[:64, :100].astype(np.float64)
    truth = 3 + columns / 20 + np.where(rows > 40, 6.0, 0.0)
    truth[5:38, 50:52] = truth[8:36, 70:72] = 20.0
    truth[:6, :20] = np.nan
    planes = np.zeros(truth.shape, np.uint8)
    planes[5:30, 5:40], planes[45:60, 20:80] = 120, 240
    return sg.Scene(
        "slope",
        gt=np.asarray(np.round(truth * 16) / 16, np.float32),
        gt_right=np.asarray(np.round((truth - 0.25) * 16) / 16, np.float32),
        calibration=sg.Calibration(ndisp=40),
        masks={"planes": planes > 0},
        resolution=0.5,
    )


def _motorcycle() -> sg.Scene:
    """The built-in Motorcycle pair, every fifth pixel."""
    whole, step = sg.load_dataset("motorcycle")["motorcycle"], 5
    given = whole.calibration
    calibration = sg.Calibration(
        focal=(given.focal or 0.0) / step, baseline=given.baseline, doffs=given.doffs / step, ndisp=14
    )
    return sg.Scene(
        "motorcycle",
        gt=np.ascontiguousarray(whole.gt[::step, ::step]) / np.float32(step),
        left=np.ascontiguousarray(whole.left[::step, ::step]),
        right=np.ascontiguousarray(whole.right[::step, ::step]),
        calibration=calibration,
        resolution=0.05,
    )


def _result(scene: sg.Scene, seed: int, kind: Any) -> sg.ResultSet:
    estimate = damaged(scene.gt, seed)
    doubt = _noise(scene.gt.shape, seed + 7)
    doubt = np.where(doubt < 0.02, np.nan, 0.2 + 0.6 * doubt + 0.1 * (np.abs(estimate - scene.gt) > 1))
    return sg.ResultSet(
        f"damaged/{kind}",
        {scene.id: estimate},
        right_maps={scene.id: damaged(np.roll(scene.gt, -4, axis=1), seed + 3)},
        confidence={scene.id: np.asarray(np.round(doubt * 256) / 256, np.float32)},
        confidence_better="lower" if kind == "sigma" else "higher",
        confidence_kind=kind,
        seconds={scene.id: 1.25},
        runs={scene.id: {"cpu_seconds": 2.5, "peak_memory": 300.0}},
    )


def variants() -> dict[str, Protocol]:
    """Every preset but those of other projects, which `test_evaluators.py` checks, and the further choices."""
    presets = {name: sg.load_protocol(name) for name in preset_names() if name not in OF_PROJECTS}
    return presets | {name: presets[name.partition("/")[0]].replace(**changes) for name, changes in CHOICES.items()}


def _ids() -> list[str]:
    """Every metric, with its examples where it takes numbers."""
    ours = [name for family in metrics().values() for name in (family.examples or (family.id,))]
    return [name for name in [*ours, *INTEREST] if name not in OF_PROBABILITIES]


def _usable(protocol: Protocol) -> Protocol:
    """The protocol on scenes of ours: no scene is chosen by name, and a mask that no scene has is not needed."""
    rule = protocol.region_rules.rule
    changes: dict[str, Any] = {"scenes": (), "left_out": ()}
    return protocol.replace(
        **changes, **({"region_rules.rule": "auto"} if rule in ("dataset", "bidirectional") else {})
    )


def rows() -> Iterator[tuple[str, ...]]:
    """The letters of the protocols; then one row per scene, metric, region and group of protocols that agree on it."""
    protocols = dict(zip(string.ascii_letters, variants().items(), strict=False))
    yield from ((LETTERS, letter, name) for letter, (name, _) in protocols.items())
    of_kind = {"sigma": _ids(), "probability": list(OF_PROBABILITIES)}
    for seed, scene in enumerate((_motorcycle(), _blocks(), _slope()), 11):
        found: dict[tuple[str, ...], str] = {}
        for letter, (_, protocol) in protocols.items():
            for kind, wanted in of_kind.items():
                for score in sg.evaluate([_result(scene, seed, kind)], scene, wanted, REGIONS, _usable(protocol)):
                    digits = (float(score.value).hex(), float(score.sum).hex(), str(score.count), str(score.missing))
                    key = (score.metric, score.region, *digits)
                    found[key] = found.get(key, "") + letter
        for (metric, region, value, *rest), letters in found.items():
            yield (scene.id, metric, region, letters, value, *rest)


def as_csv() -> str:
    """The whole table."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows(rows())
    return text.getvalue()


if __name__ == "__main__":
    TABLE.write_text(as_csv(), encoding="utf-8")
