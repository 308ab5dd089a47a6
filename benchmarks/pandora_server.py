"""Run by the interpreter of Pandora's environment: each line on standard input is answered by the seconds of one run.

Arguments: a folder with left.png and right.png, and the number of disparities.
"""

from __future__ import annotations

import sys
import time

import pandora
from pandora.img_tools import create_dataset_from_inputs
from pandora.state_machine import PandoraMachine

PIPELINE = {
    "matching_cost": {"matching_cost_method": "census", "window_size": 5, "subpix": 1},
    "cost_volume_confidence.ambiguity": {"confidence_method": "ambiguity", "eta_max": 0.7, "eta_step": 0.01},
    "cost_volume_confidence.risk": {"confidence_method": "risk", "eta_max": 0.7, "eta_step": 0.01},
    "cost_volume_confidence.intensity": {"confidence_method": "std_intensity"},
    "optimization": {"optimization_method": "sgm", "penalty": {"penalty_method": "sgm_penalty", "P1": 20, "P2": 100}},
    "disparity": {"disparity_method": "wta", "invalid_disparity": -9999},
    "refinement": {"refinement_method": "vfit"},
}


def main(folder: str, ndisp: int) -> None:
    pair = (("left", [-ndisp + 1, 0]), ("right", [0, ndisp - 1]))
    images = [
        create_dataset_from_inputs({"img": f"{folder}/{name}.png", "disp": disp, "nodata": -9999, "mask": None})
        for name, disp in pair
    ]
    machine = PandoraMachine()
    pandora.import_plugin()
    for _ in sys.stdin:
        start = time.perf_counter()
        pandora.run(machine, *images, {"pipeline": PIPELINE})
        print("seconds", time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
