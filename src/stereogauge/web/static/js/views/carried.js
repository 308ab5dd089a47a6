// The score that was clicked on the way to a scene: column, value and rank stand above its pixels.

import { ask, isStatic } from "../api.js";
import { badge } from "../chart.js";
import { h, put } from "../dom.js";
import { digits, full, percent } from "../format.js";
import * as state from "../state.js";
import { columnWords } from "../words.js";

/** Say in an element what the carried column says about an algorithm on a scene. */
export async function drawCarried(element, scene, algorithm, { column, region }) {
  if (!column || !algorithm || isStatic) return put(element);
  const params = new URLSearchParams({ scenes: scene, metrics: column.id });
  for (const name of ["protocol", "submission", "least_coverage"]) {
    if (state.get(name)) params.set(name, state.get(name));
  }
  const table = await ask("table", params);
  const row = table.algorithms.indexOf(algorithm);
  if (row < 0) return put(element);
  const value = table.values[row][0];
  const rank = table.ranks[row][0];
  const ranked = table.ranks.filter((one) => one[0] !== null).length;
  return put(
    element,
    h("strong", {}, `${column.label} of ${algorithm}: `),
    h("span", { title: full(value), "data-carried": full(value) }, `${digits(value)} ${column.unit}`),
    rank === null ? ", not ranked" : `, rank ${rank} of ${ranked}`,
    table.coverage[row][0] !== null && ` · covers ${percent(table.coverage[row][0])}`,
    region && h("span", { class: "hint" }, ` · pixels outside ${region} are grey: this score does not count them`),
  );
}

/** List who does best on a scene by one column. */
export async function drawBest(element, context, scene, column) {
  if (!column || isStatic) return put(element);
  const params = new URLSearchParams({ scenes: scene.name, metrics: column.id });
  for (const name of ["protocol", "submission", "least_coverage"]) {
    if (state.get(name)) params.set(name, state.get(name));
  }
  const table = await ask("table", params);
  const rows = table.algorithms
    .map((name, row) => ({ name, row, rank: table.ranks[row][0] }))
    .filter((one) => table.values[one.row][0] !== null)
    .sort((a, b) => (a.rank ?? Number.POSITIVE_INFINITY) - (b.rank ?? Number.POSITIVE_INFINITY));
  const pane = (name) => [`estimate~${encodeURIComponent(name)}`, `error~${encodeURIComponent(name)}`];
  return put(
    element,
    h("h2", {}, `Who is best here by ${columnWords(context, column)}`),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Best on this scene" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "rank"),
            h("th", { class: "text", scope: "col" }, "algorithm"),
            h("th", { scope: "col" }, column.label, h("span", { class: "unit" }, column.unit || " ")),
            h("th", { scope: "col" }, "covers"),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map(({ name, row, rank }) =>
            h(
              "tr",
              {},
              h("td", {}, rank ?? "–"),
              h(
                "td",
                { class: "text" },
                badge(context.styles.get(name)),
                h("a", { href: state.address({ column: column.id, pane: pane(name) }) }, name),
              ),
              h("td", { title: full(table.values[row][0]) }, digits(table.values[row][0])),
              h("td", {}, percent(table.coverage[row][0])),
            ),
          ),
        ),
      ),
    ),
  );
}
