// Every scene at a glance: one small picture of errors per algorithm and scene, with its score.

import { ask, attempt, isStatic, url } from "../api.js";
import { shortened, stated } from "../choices.js";
import { cell, h, hintOfMore, link, put, table } from "../dom.js";
import { digits, percent } from "../format.js";
import { image } from "../pictures.js";
import { classifies, mapParams, panesOf, scenePath } from "../scope.js";
import * as state from "../state.js";
import { columnOption, columnWords, idMark, linked } from "../words.js";
import { legend } from "./panes.js";

const WIDTH = 176; // px of a preview; shown at half of it on dense screens
const FEW = 8;
const ROOMY = 5; // scenes, of which larger pictures fit a window

const hide = (event) => event.target.replaceWith(h("span.no-picture", "no picture"));

/** Show the grid of a column in an element; the address says which column and whether all rows are shown. */
export async function drawThumbnails(element, context, columns, only = null) {
  const pictured = columns.find((one) => classifies(context, one));
  const column = columns.find((one) => one.id === state.get("glance")) ?? pictured ?? columns[0];
  if (!column) return put(element);
  const scores = await attempt(ask("table", state.scope({ column: column.id })), () => null);
  if (!scores) return put(element);
  const place = scores.columns.findIndex((one) => one.id === column.id);
  const order = scores.algorithms
    .map((name, row) => ({ name, row, rank: scores.ranks[row][place] ?? Number.POSITIVE_INFINITY }))
    .filter((one) => !only || only.includes(one.name))
    .sort((a, b) => a.rank - b.rank || a.row - b.row);
  const [rows, rest] = shortened(order, FEW);
  const params = (algorithm) => {
    const own = mapParams(context, { algorithm }, [algorithm]);
    if (column.label !== column.metric && !isStatic) own.set("region", column.region);
    if (!isStatic) own.set("width", WIDTH);
    return own;
  };
  const open = (scene, algorithm) =>
    state.address({ scene, column: column.id, pane: panesOf(context, algorithm) }, "scene");
  const picture = ({ name, row }, scene, at) => {
    const value = scores.scene_column.values[row][at];
    const source = value === null ? null : url(scenePath(scene, "layers/error.png"), params(name));
    return h(
      "a",
      { class: "thumb", href: open(scene, name) },
      source
        ? image(source, { alt: `errors of ${name} on ${scene}`, loading: "lazy", onerror: hide })
        : h("span.no-picture", "no map"),
      h("span.where", scene),
      h("span", digits(value)),
    );
  };
  const options = columns.map((one) => columnOption(context, one));
  const more = h("p", { class: "hint more-columns", hidden: true });
  const key = h("span.hint.row#glance-key", "absolute error · click to open");
  put(
    element,
    h(
      "div.row",
      h("h2", "Every scene at a glance"),
      stated("glance", options, column.id, "Column of the grid", { id: "glance-column" }),
      key,
    ),
    more,
    table(
      [
        "algorithm",
        cell({ class: "words" }, columnWords(context, column), h("span.unit", idMark(column.label), ` ${column.unit}`)),
        cell({}, "complete", h("span.unit", "of the pixels")),
        ...scores.scenes.map((scene) => link(state.address({ scene, pane: null }, "scene"), scene)),
      ],
      rows.map((one) => [
        cell({ class: "text pinned" }, linked(context, one.name)),
        cell(
          { class: scores.faint[one.row][place] ? "faint" : null, "data-label": column.label },
          digits(scores.values[one.row][place]),
        ),
        cell({ "data-label": "complete" }, percent(scores.coverage[one.row][place])),
        ...scores.scenes.map((scene, at) => picture(one, scene, at)),
      ]),
      { class: `glance${scores.scenes.length <= ROOMY ? " roomy" : ""}`, label: "Scenes at a glance" },
    ),
    rest,
  );
  hintOfMore(element.querySelector(".scroll"), more, "scene");
  // One colour bar for all pictures; what is not counted, not known or not estimated is named once.
  const some = order.find((one) => scores.scene_column.values[one.row].some((value) => value !== null));
  if (!some) return element;
  const scene = scores.scenes[scores.scene_column.values[some.row].findIndex((value) => value !== null)];
  const info = await ask(scenePath(scene, "layers/error"), params(some.name)).catch(() => null);
  if (info) put(key, legend({ ...info, title: "absolute error" }), h("span", "click to open"));
  return element;
}
