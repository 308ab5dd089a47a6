"""The API's questions about scenes: pictures, pixels, points in space, confidence."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from stereogauge.web.responses import tagged
from stereogauge.web.scenes.confidence import ConfidenceAnswer, confidence_answer
from stereogauge.web.scenes.layers import LayerInfo, LayerName, Shown
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
from stereogauge.web.selection import Selected
from stereogauge.web.site import Here

AlgorithmName = Annotated[str | None, Query(description="Whose map.")]
ProtocolName = Annotated[str | None, Query(description="Name or scoring hash of a protocol. Default: the first.")]
MOST_ALGORITHMS = 8

router = APIRouter(tags=["scenes"])


async def shown(
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
) -> Shown:
    """The picture of a request."""
    return Shown(scene, layer, algorithm, metric, region, range, density, protocol)


Wanted = Annotated[Shown, Depends(shown)]


@router.get("/scenes/{scene:path}/layers/{layer}.png", summary="A layer of a scene", response_class=Response)
def picture(request: Request, site: Here, wanted: Wanted) -> Response:
    """A picture, pixel for pixel."""
    data, tag, _ = site.painter.png(wanted)
    return tagged(request, data, tag, "image/png", "max-age=60")


@router.get("/scenes/{scene:path}/layers/{layer}", response_model=LayerInfo, summary="The legend of a layer")
def legend(request: Request, site: Here, wanted: Wanted) -> Response:
    """Title, unit, range and colours of a picture."""
    return site.answers.public(request, lambda: site.painter.png(wanted)[2])


@router.get("/scenes/{scene:path}/pixel", response_model=PixelAnswer, summary="Values under the pointer")
def pixel(
    request: Request,
    site: Here,
    scene: str,
    x: int,
    y: int,
    algorithms: Annotated[list[str] | None, Query(max_length=MOST_ALGORITHMS)] = None,
    protocol: ProtocolName = None,
) -> Response:
    """Everything known of one pixel."""
    return site.answers.fresh(lambda: pixel_answer(site.gallery, scene, x, y, algorithms or [], protocol))


@router.get("/scenes/{scene:path}/cloud", response_model=CloudAnswer, summary="Points in space")
def cloud(
    request: Request,
    site: Here,
    scene: str,
    algorithm: AlgorithmName = None,
    points: Annotated[int, Query(ge=100, le=200_000)] = 40_000,
    protocol: ProtocolName = None,
) -> Response:
    """The ground truth or an estimate as points."""
    return site.answers.public(request, lambda: cloud_answer(site.gallery, scene, algorithm, points, protocol))


@router.get("/scenes/{scene:path}/blocks", response_model=list[Block], summary="Where a metric's errors lie")
def blocks(
    request: Request,
    site: Here,
    scene: str,
    algorithm: str,
    metric: Annotated[str | None, Query(description="Default: the absolute error.")] = None,
    protocol: ProtocolName = None,
) -> Response:
    """The blocks with most of a metric's error."""
    return site.answers.public(
        request, lambda: [b.model_dump() for b in blocks_answer(site.gallery, scene, algorithm, metric, protocol)]
    )


@router.get("/scenes/{scene:path}/about", response_model=SceneAnswer, summary="What can be shown of a scene")
def about(request: Request, site: Here, scene: str, protocol: ProtocolName = None) -> Response:
    """Size, calibration, layers and maps of a scene."""
    return site.answers.public(request, lambda: scene_answer(site.gallery, scene, protocol))


@router.get("/confidence", response_model=ConfidenceAnswer, summary="Sparsification curves")
def confidence(
    request: Request,
    site: Here,
    selected: Selected,
    scene: Annotated[str | None, Query(description="Default: the first with a confidence map.")] = None,
    threshold: Annotated[float, Query(gt=0, le=1000, description="Bad above this error, px.")] = 1.0,
    region: str = "all",
) -> Response:
    """The curves of every confidence map of a scene."""
    return site.answer(request, selected, lambda: confidence_answer(site.gallery, selected, scene, threshold, region))
