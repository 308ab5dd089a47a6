// Every scene at a glance: one small picture of errors per algorithm and scene, with its score.

import { ask, attempt, isStatic, url } from "../api.js";
import { shortened, stated } from "../choices.js";
import { cell, h, headed, hintOfMore, link, put, table } from "../dom.js";
import { digits, percent } from "../format.js";
import { image, noPicture } from "../pictures.js";
import { classifies, mapParams, panesOf, scenePath } from "../scope.js";
import { scoreIn } from "../scores.js";
import * as state from "../state.js";
import { columnOption, columnWords, idMark, linked } from "../words.js";
import { legend } from "./panes.js";

const WIDTH = 176; // px of a preview; shown at half of it on dense screens
const FEW = 8;
const ROOMY = 5; // this many scenes fit a window with larger pictures

/** Show the grid of a column in an element; the address says which column and whether all rows are shown. */
export async function drawThumbnails(element, context, columns, only = null) {
  const pictured = columns.find((one) => classifies(context, one));
  const column = columns.find((one) => one.id === state.get("glance")) ?? pictured ?? columns[0];
  if (!column) return put(element);
  const scores = await attempt(ask("table", state.scope({ column: column.id })), () => null);
  if (!scores) return put(element);
  const order = scores.algorithms
    .map((name, row) => ({ name, ...scoreIn(scores, name, column.id), own: scores.scene_column.values[row] }))
    .filter((one) => !only || only.includes(one.name))
    .sort((a, b) => (a.rank ?? Number.POSITIVE_INFINITY) - (b.rank ?? Number.POSITIVE_INFINITY));
  const [rows, rest] = shortened(order, FEW);
  const params = (algorithm) => {
    const region = column.label === column.metric || isStatic ? null : column.region;
    return mapParams(context, { algorithm, region, width: isStatic ? null : WIDTH });
  };
  const open = (scene, algorithm) =>
    state.address({ scene, column: column.id, pane: panesOf(context, algorithm) }, "scene");
  const picture = ({ name, own }, scene, at) => {
    const source = own[at] === null ? null : url(scenePath(scene, "layers/error.png"), params(name));
    return h(
      "a.thumb",
      { href: open(scene, name) },
      source
        ? image(source, { alt: `errors of ${name} on ${scene}`, loading: "lazy", onerror: noPicture })
        : h("span.no-picture", "no map"),
      h("span.where", scene),
      h("span", digits(own[at])),
    );
  };
  const options = columns.map((one) => columnOption(context, one));
  const more = h("p.hint.more-columns", { hidden: true });
  const key = h("span.hint.row#glance-key", "absolute error · click to open");
  const made = table(
    [
      "algorithm",
      headed(columnWords(context, column), [idMark(column.label), ` ${column.unit}`], { class: "words" }),
      headed("complete", "of the pixels"),
      ...scores.scenes.map((scene) => link(state.address({ scene, pane: null }, "scene"), scene)),
    ],
    rows.map((one) => [
      cell({ class: "text pinned" }, linked(context, one.name)),
      cell({ class: one.faint ? "faint" : null, "data-label": column.label }, digits(one.value)),
      cell({ "data-label": "complete" }, percent(one.coverage)),
      ...scores.scenes.map((scene, at) => picture(one, scene, at)),
    ]),
    { class: `glance${scores.scenes.length <= ROOMY ? " roomy" : ""}`, label: "Scenes at a glance" },
  );
  put(
    element,
    h(
      "div.row",
      h("h2", "Every scene at a glance"),
      stated("glance", "Column of the grid", options, column.id, { id: "glance-column" }),
      key,
    ),
    more,
    made,
    rest,
  );
  hintOfMore(made, more, "scene");
  // One colour bar for all pictures; what is not counted, not known or not estimated is named once.
  const some = order.find((one) => one.own.some((value) => value !== null));
  if (!some) return element;
  const scene = scores.scenes[some.own.findIndex((value) => value !== null)];
  const info = await ask(scenePath(scene, "layers/error"), params(some.name)).catch(() => null);
  if (info) put(key, legend(context, { ...info, title: "absolute error" }), h("span", "click to open"));
  return element;
}
