// Error over density: each algorithm cut by its own confidence, and scores at equal density. The server draws and
// measures; it takes a while, so it is asked only where it is wanted.

import { button, cell, choose, h, put, scroll, table } from "../dom.js";
import { figure } from "../figure.js";
import { listed } from "../format.js";
import * as state from "../state.js";
import { named } from "../words.js";

const title = () => h("h2", "Error over density");

/** The offer to measure error over density. */
export function offerDensity(element) {
  put(
    element,
    h(
      "div.row",
      title(),
      button("Measure the maps", () => state.update({ density: "open" }), { id: "ask-density" }),
      h("span.hint", "cuts every map by its own confidence and compares at equal density"),
    ),
  );
}

/** Say that the maps are being measured. */
export function waitForDensity(element) {
  put(element, title(), h("p", { class: "hint", role: "status" }, "Measuring the maps at falling density …"));
}

const equal = (answer, context) =>
  scroll(
    "Scores at equal density",
    table(
      answer.header,
      answer.rows.map((row) => ({
        "data-density": row.algorithm,
        cells: [
          named(context, row.algorithm),
          ...row.cells.map((one) =>
            cell(
              {
                class: one.value === null ? "gap" : one.emphasis === "best" ? "best" : null,
                title: one.note || (one.value === null ? "no value" : String(one.value)),
              },
              one.text,
            ),
          ),
        ],
      })),
      { id: "equal-density" },
    ),
  );

/** Show the answer of `density` in an element. */
export function drawDensity(element, answer, context) {
  if (!answer.figure) return put(element, title(), h("p.hint", answer.note));
  const curves = h("div.plot#density-chart");
  put(
    element,
    h(
      "div.row",
      title(),
      choose(answer.columns, answer.column, (value) => state.update({ curve: value }), {
        "aria-label": "Metric over density",
      }),
    ),
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
  return figure(curves, answer.figure, context, {
    label: "Error over density",
    name: "error-over-density",
    height: 300,
    named: true,
  });
}
