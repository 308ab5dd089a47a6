// Error over density: each algorithm cut by its own confidence, and scores at equal density. The server draws and
// measures; it takes a while, so it is asked only where it is wanted.

import { badge, chart } from "../chart.js";
import { choose, h, put } from "../dom.js";
import { listed } from "../format.js";
import * as state from "../state.js";

const title = () => h("h2", {}, "Error over density");

/** The offer to measure error over density. */
export function offerDensity(element) {
  put(
    element,
    h(
      "div",
      { class: "row" },
      title(),
      h(
        "button",
        { type: "button", id: "ask-density", onclick: () => state.update({ density: "open" }) },
        "Measure the maps",
      ),
      h("span", { class: "hint" }, "cuts every map by its own confidence and compares at equal density"),
    ),
  );
}

/** Say that the maps are being measured. */
export function waitForDensity(element) {
  put(element, title(), h("p", { class: "hint", role: "status" }, "Measuring the maps at falling density …"));
}

function table(answer, context) {
  const cell = (one) =>
    h(
      "td",
      {
        class: one.value === null ? "gap" : one.emphasis === "best" ? "best" : null,
        title: one.note || (one.value === null ? "no value" : String(one.value)),
      },
      one.text,
    );
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { id: "equal-density" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          answer.header.map((text, at) => h("th", { class: at ? null : "text", scope: "col" }, text)),
        ),
      ),
      h(
        "tbody",
        {},
        answer.rows.map((row) =>
          h(
            "tr",
            { "data-density": row.algorithm },
            h("td", { class: "text" }, badge(context.styles.get(row.algorithm)), row.algorithm),
            row.cells.map(cell),
          ),
        ),
      ),
    ),
  );
}

/** Show the answer of `density` in an element. */
export function drawDensity(element, answer, context) {
  if (!answer.figure) return put(element, title(), h("p", { class: "hint" }, answer.note));
  const curves = h("div", { class: "plot", id: "density-chart" });
  put(
    element,
    h(
      "div",
      { class: "row" },
      title(),
      choose(answer.columns, answer.column, (value) => state.update({ curve: value }), {
        "aria-label": "Metric over density",
      }),
    ),
    curves,
    h(
      "p",
      { class: "caption" },
      "Curves: the error when only the surest pixels are kept, by the algorithm's own confidence. Large marks: ",
      "the map as it is. Only scores at one density can be put in order. ",
      `Scenes: ${listed(answer.scenes, 6)}. ${answer.note}`,
    ),
    table(answer, context),
    answer.notes.map((note) => h("p", { class: "caption" }, note)),
  );
  return chart(curves, answer.figure, { label: "Error over density", height: 300, named: true });
}
