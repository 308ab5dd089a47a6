"""Whether results come from where the algorithm of the same name in a store came from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from stereogauge.errors import StereogaugeError
from stereogauge.io.files import content_hash
from stereogauge.io.remote_path import is_remote
from stereogauge.model import Dataset, ResultSet
from stereogauge.store import Store
from stereogauge.store.sources import paths_of, source_of_text, source_text


def check_origins(store: Store, dataset: Dataset, results: Iterable[ResultSet]) -> None:
    """Refuse results of another folder under the name of a stored algorithm, unless their content is the same."""
    known = store.map_origins(dataset.name)
    for result in results:
        for scene, source in result.maps.items():
            text, content = known.get((result.name, scene), ("", ""))
            if not text or text == source_text(source):
                continue
            before, now = _folder(source_of_text(text)), _folder(source)
            if before is None or now is None or before == now:
                continue
            if content_hash(source) != content:
                raise StereogaugeError(
                    f"The store holds an algorithm called {result.name!r} from {before}, and these results of the same "
                    f"name lie in {now}; name them otherwise, or replace the others with --replace."
                )


def _folder(source: Any) -> str | None:
    """The folder of a map; None where it came from no file."""
    paths = paths_of(source) if source is not None else ()
    if not paths:
        return None
    path = os.fspath(paths[0]) if is_remote(paths[0]) else os.path.abspath(paths[0])
    return os.path.dirname(path)
