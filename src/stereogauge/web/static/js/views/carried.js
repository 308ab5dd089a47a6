// The score that was clicked on the way to a scene: column, value and rank stand above its pixels.

import { ask, isStatic } from "../api.js";
import { cell, h, headed, put, table, textCell } from "../dom.js";
import { digits, full, percent } from "../format.js";
import { panesOf } from "../scope.js";
import { scoreIn } from "../scores.js";
import * as state from "../state.js";
import { columnWords, named } from "../words.js";

/** The scores of one column on one scene, under the scope. */
const scoresOf = (scene, column) =>
  ask("table", state.scope({ scenes: scene, metrics: column.id, regions: null, algorithms: null }));

/** Say in an element what the carried column says about an algorithm on a scene. */
export async function drawCarried(element, context, scene, algorithm, { column, region }) {
  if (!column || !algorithm || isStatic) return put(element);
  const { value, rank, ranked, coverage } = scoreIn(await scoresOf(scene, column), algorithm);
  if (value === null) return put(element);
  return put(
    element,
    h("strong", `${column.label} of `, named(context, algorithm), ": "),
    h("span", { title: full(value), "data-carried": full(value) }, `${digits(value)} ${column.unit}`),
    rank === null ? ", not ranked" : `, rank ${rank} of ${ranked}`,
    coverage !== null && ` · covers ${percent(coverage)}`,
    region && h("span.hint", ` · pixels outside ${region} are grey: this score does not count them`),
  );
}

/** List who does best on a scene by one column. */
export async function drawBest(element, context, scene, column) {
  if (!column || isStatic || scene.hidden) return put(element);
  const scores = await scoresOf(scene.name, column);
  const rows = scores.algorithms
    .map((name) => ({ name, ...scoreIn(scores, name) }))
    .filter((one) => one.value !== null)
    .sort((a, b) => (a.rank ?? Number.POSITIVE_INFINITY) - (b.rank ?? Number.POSITIVE_INFINITY));
  const open = (name) => state.address({ column: column.id, pane: panesOf(context, name) });
  return put(
    element,
    h("h2", `Who is best here by ${columnWords(context, column)}`),
    table(
      ["rank", textCell("algorithm"), headed(column.label, column.unit || " "), "covers"],
      rows.map(({ name, value, rank, coverage }) => [
        rank ?? "–",
        textCell(named(context, name, open(name))),
        cell({ title: full(value) }, digits(value)),
        percent(coverage),
      ]),
      { label: "Best on this scene" },
    ),
  );
}
