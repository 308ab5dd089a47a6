"""What a search may vary, and the points that it tries: ranges, steps and choices, grids, sweeps and samplers.

A space comes from a matcher's declaration, or from a TOML file that names exactly the parameters to search:

    [parameters.smoothness]        # of an outside program: {smoothness} in its template
    low = 0.5
    high = 50.0
    default = 5.0
    logarithmic = true
    [parameters.block]             # a declared parameter: what is not given is taken from the declaration
    high = 11
    [fixed]
    uniqueness = 0
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast, get_args

import msgspec
import numpy as np
import optuna
from msgspec import Struct, field
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, NSGAIISampler, RandomSampler, TPESampler
from optuna.trial import FrozenTrial

from stereogauge.errors import FileError, MatcherError, unknown_name
from stereogauge.loading import Declaration, convert, entry, read_toml
from stereogauge.matching.declaration import Kind, Matcher, MatcherParameter, Value
from stereogauge.matching.postprocess import POST_PARAMETERS
from stereogauge.tuning.storage import position_of

Parameters: TypeAlias = dict[str, Value]
SpaceSource: TypeAlias = "str | Path | Mapping[str, Any] | Sequence[MatcherParameter]"


class StatedParameter(Declaration, frozen=True):
    """Table `[parameters.NAME]`: what a file says of one parameter; the rest is as declared."""

    kind: Kind | None = None
    default: Value | None = None
    description: str | None = None
    low: float | None = None
    high: float | None = None
    step: float | None = None
    choices: tuple[Value, ...] | None = None
    above: Annotated[str, entry("a parameter that this one must exceed")] | None = None
    only_if: Annotated[tuple[str, tuple[Value, ...]], entry("a parameter and values of it")] | None = None
    logarithmic: bool | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The entries that are there."""
        return {name: value for name in KEYS if (value := getattr(self, name)) is not None}


class SpaceFile(Declaration, frozen=True):
    """The whole file."""

    parameters: Mapping[str, StatedParameter] = {}
    fixed: Mapping[str, Value] = {}


KEYS = StatedParameter.__struct_fields__


class SearchSpace(Struct, frozen=True):
    """The searched parameters in an order in which each follows those that it depends on, and the fixed ones."""

    parameters: tuple[MatcherParameter, ...]
    fixed: Mapping[str, Value] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the searched parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def defaults(self) -> Parameters:
        """The point that the search is compared with."""
        return self.admissible({parameter.name: parameter.default for parameter in self.parameters})

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Optuna's distributions, the same for every trial; `admissible` corrects what depends on other parameters."""
        return {parameter.name: distribution(parameter) for parameter in self.parameters}

    @property
    def size(self) -> float:
        """How many points there are at most; infinite where a parameter may be any number."""
        return math.prod(_count(parameter) for parameter in self.parameters)

    def admissible(self, values: Mapping[str, Value]) -> Parameters:
        """The nearest point that the dependencies allow.

        A parameter without effect takes its default, so that points which mean the same look the same. One that must
        exceed another is raised to the next value above it, or the other lowered where there is none.
        """
        point = {parameter.name: values[parameter.name] for parameter in self.parameters}
        for parameter in self.parameters:
            if not self._active(parameter, point):
                point[parameter.name] = parameter.default
            lower = parameter.above
            bound = float({**self.fixed, **point}.get(lower or "", -math.inf))
            if lower is None or float(point[parameter.name]) > bound:
                continue
            point[parameter.name] = _next(parameter, bound, above=True)
            if lower in point and not float(point[parameter.name]) > bound:
                other = next(searched for searched in self.parameters if searched.name == lower)
                point[lower] = _next(other, float(point[parameter.name]), above=False)
        return point

    def _active(self, parameter: MatcherParameter, point: Mapping[str, Value]) -> bool:
        if parameter.only_if is None:
            return True
        other, allowed = parameter.only_if
        known = {**self.fixed, **point}
        return other not in known or known[other] in allowed

    def key(self, point: Mapping[str, Value]) -> str:
        """A text that is the same for the same point."""
        return json.dumps([point[name] for name in self.names])

    def to_plain(self) -> dict[str, Any]:
        """As plain values that JSON and TOML can hold."""
        return {
            "parameters": {parameter.name: plain_parameter(parameter) for parameter in self.parameters},
            "fixed": dict(self.fixed),
        }


def plain_parameter(parameter: MatcherParameter) -> dict[str, Any]:
    """A parameter's declaration without what is absent."""
    plain = {key: getattr(parameter, key) for key in KEYS}
    unbounded = {"low": -math.inf, "high": math.inf}
    kept = {key: value for key, value in plain.items() if value not in (None, (), "", False, unbounded.get(key))}
    kept["default"] = parameter.default
    return {key: _lists(value) for key, value in kept.items()}


def _lists(value: Any) -> Any:
    return [_lists(part) for part in value] if isinstance(value, tuple) else value


def distribution(parameter: MatcherParameter) -> CategoricalDistribution | IntDistribution | FloatDistribution:
    """The Optuna distribution of one parameter; without a step where the search is by ratio, or a number may be any."""
    if parameter.kind in ("bool", "choice"):
        return CategoricalDistribution((False, True) if parameter.kind == "bool" else parameter.choices)
    low, high, whole = float(parameter.low), float(parameter.high), parameter.kind == "int"
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise MatcherError(
            f"The parameter {parameter.name!r} cannot be searched between {low:g} and {high:g}; "
            "give low and high in a space file."
        )
    step = parameter.step or (1.0 if whole else None)
    smallest = max(low, 1.0 if whole else float(parameter.step or min(1e-3, high / 1e3)))
    if parameter.logarithmic and float(parameter.default) > 0 and high > smallest:
        low, step = smallest, None
    elif step is not None:
        high = low + math.floor((high - low) / step + 1e-9) * step
    if whole:
        return IntDistribution(int(low), int(high), log=step is None, step=int(step or 1))
    return FloatDistribution(low, high, log=step is None and parameter.logarithmic, step=step)


def _count(parameter: MatcherParameter) -> float:
    values = distribution(parameter)
    if isinstance(values, CategoricalDistribution):
        return len(values.choices)
    if values.step is None:
        return math.inf
    return math.floor((values.high - values.low) / values.step + 1e-9) + 1


def _searches(parameter: MatcherParameter, value: Value) -> bool:
    """Whether the value is one that a search can try."""
    values = distribution(parameter)
    if isinstance(values, CategoricalDistribution):
        return value in values.choices
    steps = (float(value) - values.low) / (values.step or 1.0)
    whole = values.step is None or values.log or math.isclose(steps, round(steps), abs_tol=1e-6)
    return values.low <= float(value) <= values.high and whole


def _next(parameter: MatcherParameter, bound: float, *, above: bool) -> Value:
    """The first value that a search can try above a bound, or below it; the end of the range where there is none."""
    values = distribution(parameter)
    assert not isinstance(values, CategoricalDistribution)
    stride = values.step or (max(bound, values.low) if above else bound) * 1e-3
    steps = (bound - values.low) / stride
    count = math.floor(steps) + 1 if above else math.ceil(steps) - 1
    value = max(values.low, values.low + count * stride)
    value = min(value, values.high) if above else value
    return int(value) if parameter.kind == "int" else value


def declared_space(matcher: Matcher, fixed: Mapping[str, Any]) -> SearchSpace:
    """Every parameter that the declaration says is to be tuned, without those that are fixed."""
    searched = [parameter for parameter in matcher.parameters if parameter.tuned and parameter.name not in fixed]
    return _space(searched, fixed, matcher)


def stated_space(source: SpaceSource, matcher: Matcher, fixed: Mapping[str, Any]) -> SearchSpace:
    """The space of a TOML file, of the same as a mapping, or of declared parameters."""
    if isinstance(source, str | Path):
        content, owner = read_toml(Path(source), "a search space"), str(source)
    elif isinstance(source, Mapping):
        content, owner = dict(source), "The search space"
    else:
        return _space(list(source), fixed, matcher)
    stated: SpaceFile = convert(content, SpaceFile, owner, FileError)
    tables = {name: table for name, table in stated.parameters.items() if name not in fixed}
    searched = [_stated_parameter(name, table, matcher, owner) for name, table in tables.items()]
    return _space(searched, {**stated.fixed, **fixed}, matcher)


def _declared(matcher: Matcher, name: str) -> MatcherParameter | None:
    known = {**POST_PARAMETERS, **{parameter.name: parameter for parameter in matcher.parameters}}
    if name not in known and not matcher.open_parameters:
        raise unknown_name(f"parameter of {matcher.id}", name, known)
    return known.get(name)


def _stated_parameter(name: str, table: StatedParameter, matcher: Matcher, owner: str) -> MatcherParameter:
    given = table.given
    declared = _declared(matcher, name)
    if declared is None:
        if "default" not in given:
            raise FileError(f"{owner}: the parameter {name!r} needs a default, which the tuning is compared with.")
        declared = MatcherParameter(name, given.pop("kind", None) or _kind(given), given["default"])
    elif "kind" in given:
        raise FileError(f"{owner}: {matcher.id} declares {name!r} as {declared.kind}; leave its kind out.")
    return msgspec.structs.replace(declared, **given, tuned=True)


def _kind(given: Mapping[str, Any]) -> Any:
    if "choices" in given:
        return "choice"
    if isinstance(given["default"], bool):
        return "bool"
    whole = all(isinstance(given.get(key, 0), int) for key in ("default", "low", "high", "step"))
    return "int" if whole else "float"


def _space(searched: Iterable[MatcherParameter], stated: Mapping[str, Any], matcher: Matcher) -> SearchSpace:
    fixed: dict[str, Value] = {}
    for name, value in stated.items():
        declared = _declared(matcher, name)
        fixed[name] = value if declared is None else declared.checked(value, matcher.id)
    ordered = _ordered(list(searched))
    unsearched = {p.name: p.default for p in matcher.parameters if p.name not in {q.name for q in ordered}}
    space = SearchSpace(tuple(ordered), {**unsearched, **fixed})
    # What a fixed parameter leaves without effect is not worth a search.
    active = [p for p in ordered if p.only_if is None or p.only_if[0] in space.names or space._active(p, {})]
    space = SearchSpace(tuple(active), dict(fixed))
    if not space.parameters:
        raise MatcherError(
            f"{matcher.id} has no parameter to search; give a space file that states some, or fix fewer of them."
        )
    for parameter in space.parameters:
        if not _searches(parameter, parameter.default):
            raise MatcherError(
                f"The default {parameter.default!r} of {parameter.name!r} lies outside its search range; "
                "change low, high, step or choices so that it is one of the searched values."
            )
    return space


def _ordered(parameters: list[MatcherParameter]) -> list[MatcherParameter]:
    """Each parameter after those that it depends on."""
    left, done = list(parameters), list[MatcherParameter]()
    while left:
        names = {parameter.name for parameter in left}
        free = [p for p in left if p.above not in names and (p.only_if or ("",))[0] not in names]
        if not free:
            raise MatcherError(f"The parameters {', '.join(sorted(names))} depend on one another in a circle.")
        done += free
        left = [parameter for parameter in left if parameter not in free]
    return done


def levels(parameter: MatcherParameter, count: int) -> list[Value]:
    """At most `count` values over the whole range, evenly spaced (by ratio where it is searched so), with the ends.

    Choices are always complete.
    """
    searched = distribution(parameter)
    if isinstance(searched, CategoricalDistribution):
        return cast("list[Value]", list(searched.choices))
    low, high = searched.low, searched.high
    spaced = np.geomspace(low, high, count) if searched.log else np.linspace(low, high, count)
    if searched.step is not None and not searched.log:
        spaced = low + np.round((spaced - low) / searched.step) * searched.step
    values = [round(float(v)) if parameter.kind == "int" else float(v) for v in spaced]
    return list(dict.fromkeys(values))


def grid(space: SearchSpace, most: int) -> list[Parameters]:
    """All combinations of coarse levels: as many levels per parameter as keep the combinations below `most`."""
    counts = [1] * len(space.parameters)
    available = [len(levels(parameter, most)) for parameter in space.parameters]
    grown = True
    while grown:
        grown = False
        for grown_index in sorted(range(len(counts)), key=lambda index: counts[index]):
            trial = [count + (index == grown_index) for index, count in enumerate(counts)]
            if trial[grown_index] <= available[grown_index] and math.prod(trial) <= most:
                counts, grown = trial, True
    chosen = [_spread(parameter, count) for parameter, count in zip(space.parameters, counts, strict=True)]
    points = (dict(zip(space.names, values, strict=True)) for values in itertools.product(*chosen))
    return _distinct(space, points)


def _spread(parameter: MatcherParameter, count: int) -> list[Value]:
    if count == 1:
        return [parameter.default]
    found = levels(parameter, count)
    return [found[index] for index in np.linspace(0, len(found) - 1, min(count, len(found))).round().astype(int)]


def sweep(space: SearchSpace, most: int) -> list[Parameters]:
    """One parameter at a time through its levels, the others at their defaults; at most `most` points."""
    each = max(2, most // len(space.parameters))
    points = [
        {**space.defaults, parameter.name: value} for parameter in space.parameters for value in levels(parameter, each)
    ]
    return _distinct(space, points)[:most]


def _distinct(space: SearchSpace, points: Iterable[Parameters]) -> list[Parameters]:
    """Admissible points, each once, without the defaults."""
    found = {space.key(point): point for point in map(space.admissible, points)}
    found.pop(space.key(space.defaults), None)
    return list(found.values())


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
        self._space, self._points, self._seed, self._make = space, tuple(points), seed, make

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
        """Not needed, since every parameter is part of the whole space."""
        raise NotImplementedError


def _drawn(
    drawing: BaseSampler, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
) -> dict[str, Any]:
    several = {name: allowed for name, allowed in search_space.items() if not allowed.single()}
    values = drawing.sample_relative(study, trial, several)
    for name, allowed in search_space.items():
        if name not in values:
            values[name] = drawing.sample_independent(study, trial, name, allowed)
    return values
