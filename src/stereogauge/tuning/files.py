"""A tuning as a folder: the recommended parameters, all trials, everything as JSON, and the figures."""

from __future__ import annotations

from pathlib import Path

from stereogauge.tuning.figures import figures_of
from stereogauge.tuning.result import TuningResult


def write_result(result: TuningResult, folder: Path) -> list[Path]:
    """Write best.toml, trials.csv, result.json and each figure as PNG, SVG, CSV and HTML; the written files.

    The pages share one vega.js beside them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "trials.csv": str(result.to_pandas().to_csv(index=False)),
        "result.json": result.to_json() + "\n",
    }
    if result.best is not None:
        texts["best.toml"] = result.to_toml()
    written = []
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        written.append(folder / name)
    for name, data in figures_of(result).items():
        written += [data.save(folder / f"{name}.{kind}") for kind in ("png", "svg", "csv", "html")]
    return written
