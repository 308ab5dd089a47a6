"""The parameters of the next trial: drawn by Optuna's samplers, restricted to admissible points not tried before.

A draw depends on the seed, the trial's position and the trials reported before it, and on nothing else: a run that was
stopped continues exactly as it would have without the stop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, cast, get_args

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, NSGAIISampler, RandomSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState

from stereogauge.errors import unknown_name
from stereogauge.tuning.space import Parameters, SearchSpace
from stereogauge.tuning.trials import position_of

Sampler = Literal["tpe", "nsga2", "random", "grid", "sweep"]
ATTEMPTS = 20
POPULATION = (4, 50)


def sampler_name(text: str | None, objectives: int) -> Sampler:
    """The sampler that `text` names; by default TPE for one objective and NSGA-II for several."""
    if text is None:
        return "tpe" if objectives == 1 else "nsga2"
    if text not in get_args(Sampler):
        raise unknown_name("sampler", text, get_args(Sampler))
    return cast("Sampler", text)


def search_sampler(
    name: Sampler, space: SearchSpace, points: Sequence[Parameters], seed: int, trials: int
) -> BaseSampler:
    """The sampler of a study: first `points` (the defaults; all of a grid or sweep), then what it draws."""
    population = int(np.clip(trials // 5, *POPULATION))
    makers: dict[Sampler, Callable[[int], BaseSampler]] = {
        "tpe": lambda seed: TPESampler(seed=seed, multivariate=True),
        "nsga2": lambda seed: NSGAIISampler(seed=seed, population_size=population),
    }
    return DistinctSampler(space, points, seed, makers.get(name, lambda seed: RandomSampler(seed=seed)))


class DistinctSampler(BaseSampler):
    """Given points first, then those of another sampler, made admissible; a point that was tried is drawn again."""

    def __init__(
        self, space: SearchSpace, points: Sequence[Parameters], seed: int, make: Callable[[int], BaseSampler]
    ) -> None:
        self._space = space
        self._points = tuple(points)
        self._seed = seed
        self._make = make
        self._listener = make(seed)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The whole space: it is the same for every trial."""
        return self._space.distributions

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """A point that is new to the study, if one is found within some attempts."""
        trials = study.get_trials(deepcopy=False)
        position = position_of(trials, trial)
        if position < len(self._points):
            return self._points[position]
        seed = int(np.random.SeedSequence([self._seed, position]).generate_state(1)[0])
        tried = {
            self._space.key(other.params)
            for other in trials
            if other.number != trial.number and len(other.params) == len(search_space)
        }
        point: Parameters = {}
        for drawing in (self._make(seed), RandomSampler(seed=seed)):
            for _ in range(ATTEMPTS):
                point = self._space.admissible(_drawn(drawing, study, trial, search_space))
                if self._space.key(point) not in tried:
                    return point
        return point

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Never needed: every parameter is part of the whole space."""
        return self._listener.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Notify the other sampler."""
        self._listener.before_trial(study, trial)

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Notify the other sampler."""
        self._listener.after_trial(study, trial, state, values)


def _drawn(
    drawing: BaseSampler, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
) -> dict[str, Any]:
    several = {name: allowed for name, allowed in search_space.items() if not allowed.single()}
    values = drawing.sample_relative(study, trial, several)
    for name, allowed in search_space.items():
        if name not in values:
            values[name] = drawing.sample_independent(study, trial, name, allowed)
    return values
