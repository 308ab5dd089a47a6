// The values at the pixel under the pointer.

import { figureCell, h, headed, put, table } from "../dom.js";
import { full } from "../format.js";
import { badge } from "../words.js";

const MOVE = "Move the pointer over a pane, or use the arrow keys.";

/** Show the answer of `pixel` in an element; without one, a note. */
export function drawInspector(inspector, styles, answer, note = MOVE) {
  if (!answer) return put(inspector, h("h2", "Pixel"), h("p.hint", note));
  const row = (name, style, { disparity, error, depth }) => [
    [style && badge(style), name],
    figureCell(disparity, { "data-value": full(disparity) }),
    error === undefined ? "" : figureCell(error, { "data-error": full(error) }),
    figureCell(depth),
  ];
  inspector.dataset.pixel = `${answer.x},${answer.y}`;
  return put(
    inspector,
    h("h2", "Pixel ", h("span.where", `x ${answer.x}  y ${answer.y}`)),
    table(
      ["", headed("disparity", "px"), headed("error", "px"), headed("depth", "m")],
      [
        !answer.hidden && row("ground truth", null, { disparity: answer.truth, depth: answer.depth }),
        ...answer.estimates.map((one) => row(one.algorithm, styles.get(one.algorithm), one)),
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
