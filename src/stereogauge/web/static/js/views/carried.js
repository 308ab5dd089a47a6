// The score that was clicked on the way to a scene: column, value and rank stand above its pixels.

import { ask, isStatic } from "../api.js";
import { h, put } from "../dom.js";
import { digits, full, percent } from "../format.js";
import * as state from "../state.js";

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
