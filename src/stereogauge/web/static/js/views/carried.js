// The score that was clicked on the way to a scene: column, value and rank stand above its pixels.

import { ask, isStatic } from "../api.js";
import { cell, h, put, scroll, table } from "../dom.js";
import { digits, full, percent } from "../format.js";
import { panesOf } from "../scope.js";
import * as state from "../state.js";
import { columnWords, named } from "../words.js";

/** The scores of one column on one scene, under the scope. */
function scoresOf(scene, column) {
  const params = state.scope();
  for (const [name, value] of [
    ["scenes", scene],
    ["metrics", column.id],
  ]) {
    params.delete(name);
    params.set(name, value);
  }
  params.delete("regions");
  params.delete("algorithms");
  return ask("table", params);
}

/** Say in an element what the carried column says about an algorithm on a scene. */
export async function drawCarried(element, context, scene, algorithm, { column, region }) {
  if (!column || !algorithm || isStatic) return put(element);
  const scores = await scoresOf(scene, column);
  const row = scores.algorithms.indexOf(algorithm);
  if (row < 0) return put(element);
  const value = scores.values[row][0];
  const rank = scores.ranks[row][0];
  const ranked = scores.ranks.filter((one) => one[0] !== null).length;
  return put(
    element,
    h("strong", `${column.label} of `, named(context, algorithm), ": "),
    h("span", { title: full(value), "data-carried": full(value) }, `${digits(value)} ${column.unit}`),
    rank === null ? ", not ranked" : `, rank ${rank} of ${ranked}`,
    scores.coverage[row][0] !== null && ` · covers ${percent(scores.coverage[row][0])}`,
    region && h("span.hint", ` · pixels outside ${region} are grey: this score does not count them`),
  );
}

/** List who does best on a scene by one column. */
export async function drawBest(element, context, scene, column) {
  if (!column || isStatic || scene.hidden) return put(element);
  const scores = await scoresOf(scene.name, column);
  const rows = scores.algorithms
    .map((name, row) => ({ name, row, rank: scores.ranks[row][0] }))
    .filter((one) => scores.values[one.row][0] !== null)
    .sort((a, b) => (a.rank ?? Number.POSITIVE_INFINITY) - (b.rank ?? Number.POSITIVE_INFINITY));
  return put(
    element,
    h("h2", `Who is best here by ${columnWords(context, column)}`),
    scroll(
      "Best on this scene",
      table(
        [
          "rank",
          cell({ class: "text" }, "algorithm"),
          cell({}, column.label, h("span.unit", column.unit || " ")),
          "covers",
        ],
        rows.map(({ name, row, rank }) => [
          rank ?? "–",
          cell(
            { class: "text" },
            named(context, name, state.address({ column: column.id, pane: panesOf(context, name) })),
          ),
          cell({ title: full(scores.values[row][0]) }, digits(scores.values[row][0])),
          percent(scores.coverage[row][0]),
        ]),
      ),
    ),
  );
}
