"""Which scenes are held out together: k folds by scene; scenes with the same ground truth stay together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stereogauge.errors import StereogaugeError


def scene_groups(truths: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Indices of scenes by the hash of their ground truth, in order of appearance.

    Middlebury's PianoL is Piano under other lighting: parameters tuned on one have seen the other.
    """
    groups: dict[str, list[int]] = {}
    for index, truth in enumerate(truths):
        groups.setdefault(truth, []).append(index)
    return tuple(tuple(group) for group in groups.values())


def scene_folds(groups: Sequence[Sequence[int]], folds: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """The scenes held out in each fold; every scene in exactly one, the groups dealt out at random by `seed`."""
    if folds < 2:
        return ()
    if len(groups) < folds:
        raise StereogaugeError(
            f"{folds} folds need at least as many scenes with different ground truth; found {len(groups)}. "
            "Give fewer folds, or 0 for none."
        )
    dealt = np.random.default_rng(seed).permutation(len(groups))
    return tuple(
        tuple(sorted(scene for group in dealt[fold::folds] for scene in groups[group])) for fold in range(folds)
    )
