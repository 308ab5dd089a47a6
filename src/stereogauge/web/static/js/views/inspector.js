// The values at the pixel under the pointer.

import { badge } from "../chart.js";
import { h, put } from "../dom.js";
import { digits, full } from "../format.js";

/** Show the answer of `pixel` in an element; without one, a note. */
export function drawInspector(
  inspector,
  styles,
  answer,
  note = "Move the pointer over a pane, or use the arrow keys.",
) {
  if (!answer) return put(inspector, h("h2", {}, "Pixel"), h("p", { class: "hint" }, note));
  const row = (name, style, disparity, error, depth) =>
    h(
      "tr",
      {},
      h("td", { class: "text" }, style && badge(style), name),
      h("td", { title: full(disparity), "data-value": full(disparity) }, digits(disparity)),
      h("td", { title: full(error), "data-error": full(error) }, error === undefined ? "" : digits(error)),
      h("td", { title: full(depth) }, depth === undefined ? "" : digits(depth)),
    );
  inspector.dataset.pixel = `${answer.x},${answer.y}`;
  return put(
    inspector,
    h("h2", {}, "Pixel ", h("span", { class: "where" }, `x ${answer.x}  y ${answer.y}`)),
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { class: "text" }, ""),
          h("th", {}, "disparity", h("span", { class: "unit" }, "px")),
          h("th", {}, "error", h("span", { class: "unit" }, "px")),
          h("th", {}, "depth", h("span", { class: "unit" }, "m")),
        ),
      ),
      h(
        "tbody",
        {},
        !answer.hidden && row("ground truth", null, answer.truth, undefined, answer.depth),
        answer.estimates.map((one) =>
          row(one.algorithm, styles.get(one.algorithm), one.disparity, one.error, one.depth),
        ),
      ),
    ),
    h(
      "p",
      {},
      answer.regions.map((name) => h("span", { class: "chip" }, name)),
      answer.hidden && h("span", { class: "hint" }, "Ground truth and regions of this scene are hidden."),
    ),
    h("p", { class: "hint" }, answer.colour.length ? `image ${answer.colour.join(" ")}` : ""),
  );
}
