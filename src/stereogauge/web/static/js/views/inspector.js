// The values at the pixel under the pointer.

import { cell, figureCell, h, put, table } from "../dom.js";
import { full } from "../format.js";
import { badge } from "../words.js";

/** Show the answer of `pixel` in an element; without one, a note. */
export function drawInspector(
  inspector,
  styles,
  answer,
  note = "Move the pointer over a pane, or use the arrow keys.",
) {
  if (!answer) return put(inspector, h("h2", "Pixel"), h("p.hint", note));
  const row = (name, style, disparity, error, depth) => [
    [style && badge(style), name],
    figureCell(disparity, { "data-value": full(disparity) }),
    error === undefined ? "" : figureCell(error, { "data-error": full(error) }),
    depth === undefined ? "" : figureCell(depth),
  ];
  const head = (text, unit) => cell({}, text, h("span.unit", unit));
  inspector.dataset.pixel = `${answer.x},${answer.y}`;
  return put(
    inspector,
    h("h2", "Pixel ", h("span.where", `x ${answer.x}  y ${answer.y}`)),
    table(
      ["", head("disparity", "px"), head("error", "px"), head("depth", "m")],
      [
        !answer.hidden && row("ground truth", null, answer.truth, undefined, answer.depth),
        ...answer.estimates.map((one) =>
          row(one.algorithm, styles.get(one.algorithm), one.disparity, one.error, one.depth),
        ),
      ],
    ),
    h(
      "p",
      answer.regions.map((name) => h("span.chip", name)),
      answer.hidden && h("span.hint", "Ground truth and regions of this scene are hidden."),
    ),
    h("p.hint", answer.colour.length ? `image ${answer.colour.join(" ")}` : ""),
  );
}
