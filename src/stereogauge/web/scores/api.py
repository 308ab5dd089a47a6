"""The calls of the API about scores."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter, Depends, Query, Request, Response
from msgspec import structs

from stereogauge.errors import StereogaugeError
from stereogauge.ranking.model import models
from stereogauge.ranking.profile import parse_weights
from stereogauge.scores.scope import MissingPixels, coverage_of
from stereogauge.scores.selection import missing_pixels_rule
from stereogauge.web.dependencies import AtOnce, Decisions, Pictures, Selected, Statistics, Tables
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.responses import Plain, tagged
from stereogauge.web.scores.catalogue import (
    algorithm_entries,
    catalogue_answer,
    dataset_entries,
    formula_picture,
    scene_entries,
    scope_answer,
)
from stereogauge.web.scores.decisions import answer_answer, chosen_purpose, explain_answer
from stereogauge.web.scores.density import density_answer
from stereogauge.web.scores.rankings import leaderboard_file, model_options, rank_answer
from stereogauge.web.scores.statistics import (
    correlation_answer,
    histogram_answer,
    shapes_answer,
    significance_answer,
    stability_answer,
)
from stereogauge.web.scores.tables import table_answer
from stereogauge.web.site import Site

MOST_SCATTERS = 25
MOST_DRAWS = 5000
MOST_WEIGHTS = 200
MOST_MARKED = 50

ProfileName = Annotated[str | None, Query(description="A shipped profile of weights (weighted).")]
Normalisation = Annotated[str | None, Query(description="heuristic, max, z-score or rank (weighted).")]
Weights = Annotated[
    list[str] | None, Query(max_length=MOST_WEIGHTS, description="metric=number; repeat. Replaces a profile.")
]
Marked = Annotated[list[str] | None, Query(max_length=MOST_MARKED, description="Algorithms to mark.")]

router = APIRouter(tags=["scores"])


class ModelQuery(NamedTuple):
    """A ranking model and the options that a request states for it."""

    name: str
    options: dict[str, Any]
    missing_pixels: MissingPixels


async def model_query(
    model: Annotated[str, Query(description="middlebury, extended, a-star or weighted.")] = "a-star",
    ties: Annotated[str | None, Query(description="min, average or dense.")] = None,
    tau: Annotated[float | None, Query(description="Rank sums closer than τ are alike (extended).")] = None,
    profile: ProfileName = None,
    normalisation: Normalisation = None,
    weights: Weights = None,
    missing_pixels: Annotated[
        Literal["charged", "left-out"], Query(description="Pixels that a score leaves out: charged, or left out.")
    ] = "charged",
) -> ModelQuery:
    """The model that a request names."""
    if model not in models():
        raise UnknownChoiceError("model", model, models())
    options = model_options(model, ties, tau, profile, normalisation, weights)
    return ModelQuery(model, options, missing_pixels_rule(missing_pixels))


ChosenModel = Annotated[ModelQuery, Depends(model_query)]


@router.get("/catalogue", summary="Everything that can be chosen")
def catalogue(answer: AtOnce) -> Response:
    """Metrics, regions, models, profiles and protocols with their declarations."""
    return answer(lambda site: catalogue_answer(site.source.protocols(), submissions=site.submissions is not None))


@router.get("/catalogue/{kind}/{identifier}.svg", summary="The formula of a metric or region")
def formula(request: Request, kind: Literal["metrics", "regions"], identifier: str) -> Response:
    """A picture of the formula."""
    return tagged(request, formula_picture(kind, identifier), f"{kind}-{identifier}", "image/svg+xml", "max-age=86400")


@router.get("/datasets", summary="Datasets with scores")
def datasets(
    answer: AtOnce,
    protocol: Annotated[str | None, Query(description="Name or scoring hash of a protocol. Default: any.")] = None,
) -> Response:
    """The datasets and their scenes."""
    return answer(lambda site: dataset_entries(site.source, site.scenes.hidden, protocol))


@router.get("/scope", summary="What a scope may hold, and what it holds by default")
def scope(answer: AtOnce, selected: Selected) -> Response:
    """Scenes, algorithms, columns and profiles under a data set and protocol, with the defaults of a scope."""
    return answer(lambda site: scope_answer(site.scores, selected))


@router.get("/scenes", summary="Scenes with scores, and their gaps")
def scenes(answer: AtOnce, selected: Selected) -> Response:
    """The scenes, each with the algorithms that lack it."""
    return answer(
        lambda site: scene_entries(site.scores.whole(selected), site.scores.hidden) if site.source.protocols() else []
    )


@router.get("/algorithms", summary="Algorithms with scores, and their gaps")
def algorithms(answer: AtOnce, selected: Selected) -> Response:
    """The algorithms, each with the scenes that it lacks."""
    return answer(
        lambda site: algorithm_entries(site.scores, site.scores.whole(selected)) if site.source.protocols() else []
    )


@router.get("/table", summary="Scores of a selection")
async def table(
    answer: Tables,
    selected: Selected,
    column: Annotated[str | None, Query(description="A column to show scene by scene.")] = None,
) -> Response:
    """One row per algorithm, one column per metric and region."""
    return await answer(lambda site: table_answer(site.scores, selected, column))


@router.get("/shapes", summary="Radar charts and parallel coordinates")
async def shapes(answer: Tables, selected: Selected) -> Response:
    """Every algorithm over all columns at once, as charts in Vega-Lite."""
    return await answer(lambda site: shapes_answer(site.scores, selected))


@router.get("/answer", summary="Which algorithm to take, and how sure that is")
async def answer(
    answer: Decisions,
    selected: Selected,
    profile: ProfileName = None,
    weights: Weights = None,
    requirements: Annotated[
        str | None, Query(max_length=4000, description="The tables of a requirements.toml as JSON.")
    ] = None,
    completeness: Annotated[str | None, Query(max_length=20, description="An older name of `need`.")] = None,
) -> Response:
    """The answer of `stereogauge answer`."""
    own = parse_weights(weights)
    if completeness is not None:
        coverage_of(completeness)
        selected = structs.replace(selected, need=completeness)
    return await answer(lambda site: answer_answer(site.scores, selected, profile, own, requirements))


@router.get("/explain", summary="Why one algorithm is above another")
async def explain(
    answer: Decisions,
    selected: Selected,
    first: str,
    second: str,
    profile: ProfileName = None,
    weights: Weights = None,
) -> Response:
    """The explanation of `stereogauge explain`: terms, scenes and regions that sum to the difference."""
    own = parse_weights(weights)
    return await answer(lambda site: explain_answer(site.scores, selected, first, second, profile, own))


@router.get("/rank", summary="The order that a model gives")
async def rank(
    tables: Tables,
    statistics: Statistics,
    selected: Selected,
    model: ChosenModel,
    draws: Annotated[int, Query(ge=0, le=MOST_DRAWS, description="Draws of scenes for intervals; 0: none.")] = 0,
    bars: Annotated[
        Literal["term", "property"] | None, Query(description="A figure of a weighted order: what its segments are.")
    ] = None,
) -> Response:
    """The ranking of a selection."""
    answer = statistics if draws else tables
    return await answer(lambda site: rank_answer(site.scores, selected, *model, draws, bars))


@router.get("/rank.{form}", summary="The leaderboard as CSV or LaTeX", response_class=Response)
async def download(answer: Tables, form: Literal["csv", "tex"], selected: Selected, model: ChosenModel) -> Response:
    """The ranking with its scores as a file."""
    response = await answer(lambda site: leaderboard_file(site.scores, selected, *model, form))
    response.headers["Content-Disposition"] = f'attachment; filename="leaderboard.{form}"'
    return response


@router.get("/density", summary="Error over density, and scores at equal density")
async def density(
    answer: Pictures,
    selected: Selected,
    column: Annotated[
        str | None, Query(description="The column of the curves. Default: the first that has some.")
    ] = None,
) -> Response:
    """The error of each algorithm when only its most confident pixels are kept; orders are at equal density."""

    def make(site: Site) -> Plain:
        private = () if selected.submission is None else site.scenes.private(selected.submission)
        return density_answer(site.scores, site.scenes.hidden, selected, column, private)

    return await answer(make)


@router.get("/significance", summary="Which differences are significant")
async def significance(
    answer: Statistics,
    selected: Selected,
    alpha: Annotated[float, Query(gt=0, lt=1)] = 0.05,
    first: Annotated[str | None, Query(description="With `second`: two algorithms head to head.")] = None,
    second: str | None = None,
    column: Annotated[
        str | None, Query(description="The column of the head-to-head. Default: the score, or the first column.")
    ] = None,
    profile: ProfileName = None,
    weights: Weights = None,
) -> Response:
    """Friedman's test with Nemenyi's critical distance; two algorithms head to head.

    With a profile or weights, the weighted score is tested.
    """
    own = parse_weights(weights)

    def make(site: Site) -> Plain:
        purpose = chosen_purpose(site.scores, selected, profile, own)
        return significance_answer(site.scores, selected, alpha, first, second, column, purpose)

    return await answer(make)


@router.get("/correlation", summary="How much one metric says about another")
async def correlation(
    answer: Statistics,
    selected: Selected,
    scatter: Annotated[
        list[str] | None,
        Query(max_length=MOST_SCATTERS, description="Columns to plot against each other: x~y. Default: a telling few."),
    ] = None,
    mark: Marked = None,
) -> Response:
    """r² between all columns, and scatter plots."""
    pairs = [_pair(text) for text in scatter or []]
    return await answer(lambda site: correlation_answer(site.scores, selected, pairs, mark or []))


@router.get("/histogram", summary="Where the scores of a metric lie")
async def histogram(
    answer: Statistics,
    selected: Selected,
    metric: Annotated[str, Query(description="A column such as bad@1:nonocc.")],
    mark: Marked = None,
    bins: Annotated[int, Query(ge=2, le=200)] = 20,
) -> Response:
    """Counts of the scores of one column."""
    return await answer(lambda site: histogram_answer(site.scores, selected, metric, mark or [], bins))


@router.get("/stability", summary="How easily the winner changes")
async def stability(
    answer: Statistics,
    selected: Selected,
    profile: ProfileName = None,
    normalisation: Normalisation = None,
    weights: Weights = None,
    family: Annotated[str, Query(description="A family of metrics with thresholds.")] = "bad",
) -> Response:
    """Orders under weights drawn around those stated, and under the thresholds of a family."""
    options = model_options("weighted", None, None, profile, normalisation, weights)
    return await answer(lambda site: stability_answer(site.scores, selected, options, family))


def _pair(text: str) -> tuple[str, str]:
    x, tilde, y = text.partition("~")
    if not tilde:
        raise StereogaugeError(f"Columns to plot are written x~y, for example bad@1:all~rms:all; found {text!r}.")
    return x, y
