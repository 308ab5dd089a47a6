"""The calls of the API about scenes: pictures, pixels, points in space, confidence."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from stereogauge.web.dependencies import CurrentSite, ProtocolName, Selected
from stereogauge.web.responses import fresh, tagged
from stereogauge.web.scenes.confidence import ConfidenceAnswer, confidence_answer
from stereogauge.web.scenes.layers import LayerInfo, LayerName, LayerQuery
from stereogauge.web.scenes.pixels import (
    Block,
    CloudAnswer,
    PixelAnswer,
    SceneAnswer,
    blocks_answer,
    cloud_answer,
    pixel_answer,
    scene_answer,
)

AlgorithmName = Annotated[str | None, Query(description="Whose map.")]
MOST_ALGORITHMS = 8

router = APIRouter(tags=["scenes"])


async def layer_query(
    scene: str,
    layer: LayerName,
    algorithm: AlgorithmName = None,
    metric: Annotated[str | None, Query(description="For the layer `metric`.")] = None,
    region: Annotated[str | None, Query(description="For the layer `region`.")] = None,
    range: Annotated[  # noqa: A002 - the parameter's public name
        float | None, Query(gt=0, le=1e6, description="Where errors are clipped, in px.")
    ] = None,
    density: Annotated[
        float | None, Query(ge=0, le=1, description="For the layer `confidence`: the share of pixels to keep.")
    ] = None,
    protocol: ProtocolName = None,
) -> LayerQuery:
    """The picture that a request names."""
    return LayerQuery(scene, layer, algorithm, metric, region, range, density, protocol)


RequestedLayer = Annotated[LayerQuery, Depends(layer_query)]


@router.get("/scenes/{scene:path}/layers/{layer}.png", summary="A layer of a scene", response_class=Response)
async def picture(request: Request, site: CurrentSite, layer: RequestedLayer) -> Response:
    """A picture, pixel for pixel."""
    data, tag, _ = await site.pictures.run(lambda: site.painter.png(layer))
    return tagged(request, data, tag, "image/png", "max-age=60")


@router.get("/scenes/{scene:path}/layers/{layer}", response_model=LayerInfo, summary="The legend of a layer")
async def legend(request: Request, site: CurrentSite, layer: RequestedLayer) -> Response:
    """Title, unit, range and colours of a picture."""
    return await site.pictures.run(lambda: site.answers.give(request, lambda: site.painter.png(layer)[2]))


@router.get("/scenes/{scene:path}/pixel", response_model=PixelAnswer, summary="Values under the pointer")
def pixel(
    request: Request,
    site: CurrentSite,
    scene: str,
    x: int,
    y: int,
    algorithms: Annotated[list[str] | None, Query(max_length=MOST_ALGORITHMS)] = None,
    protocol: ProtocolName = None,
) -> Response:
    """The values at one pixel."""
    return fresh(pixel_answer(site.scenes, scene, x, y, algorithms or [], protocol))


@router.get("/scenes/{scene:path}/cloud", response_model=CloudAnswer, summary="Points in space")
async def cloud(
    request: Request,
    site: CurrentSite,
    scene: str,
    algorithm: AlgorithmName = None,
    points: Annotated[int, Query(ge=100, le=200_000)] = 40_000,
    protocol: ProtocolName = None,
) -> Response:
    """The ground truth or an estimate as points."""
    return await site.pictures.run(
        lambda: site.answers.give(request, lambda: cloud_answer(site.scenes, scene, algorithm, points, protocol))
    )


@router.get("/scenes/{scene:path}/blocks", response_model=list[Block], summary="Where a metric's errors lie")
async def blocks(
    request: Request,
    site: CurrentSite,
    scene: str,
    algorithm: str,
    metric: Annotated[str | None, Query(description="Default: the absolute error.")] = None,
    protocol: ProtocolName = None,
) -> Response:
    """The blocks with most of a metric's error."""
    return await site.pictures.run(
        lambda: site.answers.give(request, lambda: blocks_answer(site.scenes, scene, algorithm, metric, protocol))
    )


@router.get("/scenes/{scene:path}/about", response_model=SceneAnswer, summary="What can be shown of a scene")
def about(request: Request, site: CurrentSite, scene: str, protocol: ProtocolName = None) -> Response:
    """Size, calibration, layers and maps of a scene."""
    return site.answers.give(request, lambda: scene_answer(site.scenes, scene, protocol))


@router.get("/confidence", response_model=ConfidenceAnswer, summary="Sparsification curves")
async def confidence(
    request: Request,
    site: CurrentSite,
    selected: Selected,
    scene: Annotated[str | None, Query(description="Default: the first with a confidence map.")] = None,
    threshold: Annotated[float, Query(gt=0, le=1000, description="Bad above this error, px.")] = 1.0,
    region: str = "all",
) -> Response:
    """The curves of every confidence map of a scene."""

    def make() -> ConfidenceAnswer:
        cube = site.scores.values(selected)
        return confidence_answer(site.scenes, cube, selected.protocol, scene, threshold, region)

    return await site.pictures.run(lambda: site.answers.give(request, make))
