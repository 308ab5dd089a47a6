// Error over density: each algorithm cut by its own confidence, and scores at equal density. The server draws and
// measures; it takes a while, so it is asked only where it is wanted.

import { stated } from "../choices.js";
import { button, cell, h, put, table } from "../dom.js";
import { figure } from "../figure.js";
import { full, listed } from "../format.js";
import * as state from "../state.js";
import { named } from "../words.js";

const title = () => h("h2", "Error over density");

/** The offer to measure error over density. */
export const offerDensity = (element) =>
  put(
    element,
    h(
      "div.row",
      title(),
      button("Measure the maps", () => state.update({ density: "open" }), { id: "ask-density" }),
      h("span.hint", "cuts every map by its own confidence and compares at equal density"),
    ),
  );

/** Say that the maps are being measured. */
export const waitForDensity = (element) =>
  put(element, title(), h("p.hint", { role: "status" }, "Measuring the maps at falling density …"));

function equal(answer, context) {
  const score = ({ value, emphasis, note, text }) =>
    cell({ class: value === null ? "gap" : emphasis === "best" ? "best" : null, title: note || full(value) }, text);
  const rows = answer.rows.map(({ algorithm, cells }) => ({
    "data-density": algorithm,
    cells: [named(context, algorithm), ...cells.map(score)],
  }));
  return table(answer.header, rows, { id: "equal-density", label: "Scores at equal density" });
}

/** Show the answer of `density` in an element. */
export function drawDensity(element, answer, context) {
  if (!answer.figure) return put(element, title(), h("p.hint", answer.note));
  const curves = h("div.plot#density-chart");
  put(
    element,
    h("div.row", title(), stated("curve", "Metric over density", answer.columns, answer.column)),
    curves,
    h(
      "p.caption",
      "Curves: the error when only the surest pixels are kept, by the algorithm's own confidence. Large marks: ",
      "the map as it is. Only scores at one density can be put in order. ",
      `Scenes: ${listed(answer.scenes, 6)}. ${answer.note}`,
    ),
    equal(answer, context),
    answer.notes.map((note) => h("p.caption", note)),
  );
  const options = { label: "Error over density", name: "error-over-density", height: 300, named: true };
  return figure(curves, answer.figure, context, options);
}
