"""The calls of the API about scenes: pictures, pixels, points in space, confidence."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from stereogauge.web.dependencies import (
    AtOnce,
    CurrentSite,
    DatasetName,
    OwnSubmission,
    Pictures,
    ProtocolName,
    Selected,
)
from stereogauge.web.responses import fresh, tagged
from stereogauge.web.scenes.confidence import ConfidenceQuery, confidence_answer
from stereogauge.web.scenes.contrasts import contrast_answer
from stereogauge.web.scenes.layers import LayerName, LayerOptions, LayerQuery
from stereogauge.web.scenes.pixels import blocks_answer, cloud_answer, objects_answer, pixel_answer, scene_answer
from stereogauge.web.scenes.reader import SceneQuery

AlgorithmName = Annotated[str | None, Query(description="Whose map.")]
MOST_ALGORITHMS = 8
Few = Annotated[list[str] | None, Query(max_length=MOST_ALGORITHMS)]
MOST_LETTERS = 4000

router = APIRouter(tags=["scenes"])


async def scene_query(
    scene: str, submission: OwnSubmission, protocol: ProtocolName = None, dataset: DatasetName = None
) -> SceneQuery:
    """The scene that a request names."""
    return SceneQuery(scene, protocol, submission, dataset)


AskedScene = Annotated[SceneQuery, Depends(scene_query)]


async def layer_query(asked: AskedScene, layer: LayerName, options: Annotated[LayerOptions, Query()]) -> LayerQuery:
    """The picture that a request names."""
    return LayerQuery(scene=asked, layer=layer, **options.model_dump(by_alias=True))


RequestedLayer = Annotated[LayerQuery, Depends(layer_query)]


@router.get("/scenes/{scene:path}/layers/{layer}.png", summary="A layer of a scene", response_class=Response)
async def picture(request: Request, site: CurrentSite, layer: RequestedLayer) -> Response:
    """A picture, pixel for pixel."""
    data, tag, _ = await site.pictures.run(request, lambda: site.painter.png(layer))
    if layer.scene.submission is not None:
        return fresh(Response(data, media_type="image/png"))
    return tagged(request, data, tag, "image/png", "max-age=60")


@router.get("/scenes/{scene:path}/layers/{layer}.svg", summary="A layer with its legend", response_class=Response)
async def annotated(
    request: Request,
    site: CurrentSite,
    layer: RequestedLayer,
    title: Annotated[str, Query(max_length=MOST_LETTERS)] = "",
    caption: Annotated[str, Query(max_length=MOST_LETTERS)] = "",
) -> Response:
    """A picture to take away: under a title, with its colour bar or legend and a caption."""
    text = await site.pictures.run(request, lambda: site.painter.svg(layer, title, caption))
    return fresh(Response(text, media_type="image/svg+xml"))


@router.get("/scenes/{scene:path}/layers/{layer}.csv", summary="The numbers of a layer", response_class=Response)
async def numbers(request: Request, site: CurrentSite, layer: RequestedLayer) -> Response:
    """The numbers that a picture shows, one line per row of pixels."""
    text = await site.pictures.run(request, lambda: site.painter.csv(layer))
    return fresh(Response(text, media_type="text/csv; charset=utf-8"))


@router.get("/scenes/{scene:path}/layers/{layer}", summary="The legend of a layer")
async def legend(answer: Pictures, layer: RequestedLayer) -> Response:
    """Title, unit, range and colours of a picture."""
    return await answer(lambda site: site.painter.png(layer)[2])


@router.get("/scenes/{scene:path}/pixel", summary="Values under the pointer")
async def pixel(
    request: Request, site: CurrentSite, asked: AskedScene, x: int, y: int, algorithms: Few = None
) -> Response:
    """The values at one pixel."""
    values = await site.pictures.run(request, lambda: pixel_answer(site.scenes, asked, x, y, algorithms or []))
    return fresh(values)


@router.get("/scenes/{scene:path}/cloud", summary="Points in space")
async def cloud(
    answer: Pictures,
    asked: AskedScene,
    algorithm: AlgorithmName = None,
    points: Annotated[int, Query(ge=100, le=200_000)] = 40_000,
) -> Response:
    """The ground truth or an estimate as points."""
    return await answer(lambda site: cloud_answer(site.scenes, asked, algorithm, points))


@router.get("/scenes/{scene:path}/blocks", summary="Where a metric's errors lie")
async def blocks(
    answer: Pictures,
    asked: AskedScene,
    algorithm: str,
    metric: Annotated[str | None, Query(description="Default: the absolute error.")] = None,
    region: Annotated[str | None, Query(description="Only errors inside it, for example `near&textureless`.")] = None,
) -> Response:
    """The blocks with most of a metric's error."""
    return await answer(lambda site: blocks_answer(site.scenes, asked, algorithm, metric, region))


@router.get("/scenes/{scene:path}/objects", summary="Scores by object")
async def objects(answer: Pictures, asked: AskedScene, algorithms: Few = None) -> Response:
    """Every plane, fine structure and foreground object with its place, and the metrics that fit it."""
    return await answer(lambda site: objects_answer(site.scenes, asked, algorithms or []))


@router.get("/scenes/{scene:path}/contrast", summary="Where two algorithms differ")
async def contrast(
    answer: Pictures,
    asked: AskedScene,
    first: str,
    second: str,
    column: Annotated[str, Query(description="A column that calls pixels wrong, such as bad@1:nonocc.")],
) -> Response:
    """The crops in which two algorithms differ most."""
    return await answer(lambda site: contrast_answer(site.scenes, asked, first, second, column))


@router.get("/scenes/{scene:path}/about", summary="What can be shown of a scene")
def about(answer: AtOnce, asked: AskedScene) -> Response:
    """Size, calibration, layers and maps of a scene."""
    return answer(lambda site: scene_answer(site.scenes, asked))


@router.get("/confidence", summary="Sparsification curves")
async def confidence(answer: Pictures, selected: Selected, query: Annotated[ConfidenceQuery, Query()]) -> Response:
    """The curves of every confidence map of a scene."""
    return await answer(lambda site: confidence_answer(site.scenes, site.scores.values(selected), selected, query))
