"""The calls of the API about tuning studies."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from stereogauge import tuning
from stereogauge.errors import MissingDependency
from stereogauge.web.dependencies import AtOnce
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.site import Site

SECONDS_KEPT = 5.0
"""Studies on a server change without the scores, and reading them takes a second."""

router = APIRouter(tags=["tuning"])


def known_studies(site: Site) -> list[dict[str, Any]]:
    """The studies in the site's store; none where Optuna, which reads them, is not installed."""
    if site.store_url is None:
        return []
    try:
        return tuning.studies(site.store_url)
    except MissingDependency:
        return []


@router.get("/tuning", summary="Studies")
def studies(answer: AtOnce) -> Response:
    """Every study."""
    return answer(known_studies, SECONDS_KEPT)


def known_store(site: Site, study: str) -> str:
    """The address of the store that holds a study; other names are refused."""
    names = [str(entry["name"]) for entry in known_studies(site)]
    if study not in names or site.store_url is None:
        raise UnknownChoiceError("study", study, names)
    return site.store_url


@router.get("/tuning/{study}", summary="One study")
def study(answer: AtOnce, study: str) -> Response:
    """The gain over the default, every trial, and which parameters matter."""
    return answer(lambda site: tuning.study_summary(known_store(site, study), study), SECONDS_KEPT)


@router.get("/tuning/{study}/figures", summary="The figures of a study in Vega-Lite")
def figures(answer: AtOnce, study: str) -> Response:
    """`trials` (the trade-off of two objectives or the history of one) and `importance`; null without trials."""

    def make(site: Site) -> dict[str, Any]:
        result = tuning.load_result(known_store(site, study), study)
        several = any(len(trial.values or ()) > 1 for trial in result.complete)
        trials = tuning.trade_off_data if several else tuning.history_data
        return {
            "trials": trials(result).page_spec() if result.complete else None,
            "importance": tuning.importance_data(result).page_spec() if result.importance else None,
        }

    return answer(make, SECONDS_KEPT)
