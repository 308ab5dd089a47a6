// Every scene at a glance: one small picture of errors per algorithm and scene, with its score.

import { ask, isStatic, Problem, url } from "../api.js";
import { badge } from "../chart.js";
import { choose, h, put } from "../dom.js";
import { digits, full, percent } from "../format.js";
import { image } from "../pictures.js";
import { classifies, mapParams } from "../selection.js";
import * as state from "../state.js";
import { columnOption, columnWords, idMark } from "../words.js";

const WIDTH = 176; // px of a preview; shown at half of it on dense screens
const FEW = 8;
const ROOMY = 5; // scenes, of which larger pictures fit a window

/** Show the grid of a column in an element; the address says which column and whether all rows are shown. */
export async function drawThumbnails(element, context, columns, only = null) {
  const pictured = columns.find((one) => classifies(context, one));
  const column = columns.find((one) => one.id === state.get("glance")) ?? pictured ?? columns[0];
  if (!column) return put(element);
  const params = state.selection();
  params.set("column", column.id);
  let table;
  try {
    table = await ask("table", params);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    return put(element);
  }
  const place = table.columns.findIndex((one) => one.id === column.id);
  const order = table.algorithms
    .map((name, row) => ({ name, row, rank: table.ranks[row][place] ?? Number.POSITIVE_INFINITY }))
    .filter((one) => !only || only.includes(one.name))
    .sort((a, b) => a.rank - b.rank || a.row - b.row);
  const all = state.get("rows") === "all" || order.length <= FEW;
  const shown = all ? order : order.slice(0, FEW);
  const bound = column.label === column.metric;
  const layer = (scene, algorithm) => {
    const own = mapParams(context, { algorithm }, [algorithm]);
    if (!bound && !isStatic) own.set("region", column.region);
    if (!isStatic) own.set("width", WIDTH);
    return url(`scenes/${encodeURIComponent(scene)}/layers/error.png`, own);
  };
  const open = (scene, algorithm) =>
    state.address(
      {
        scene,
        column: column.id,
        pane: [`estimate~${encodeURIComponent(algorithm)}`, `error~${encodeURIComponent(algorithm)}`],
      },
      "scene",
    );
  const cell = ({ name, row }, scene, at) => {
    const value = table.scene_column.values[row][at];
    const address = value === null ? null : layer(scene, name);
    return h(
      "td",
      {},
      h(
        "a",
        { class: "thumb", href: open(scene, name), title: `${name} on ${scene}: ${full(value)} ${column.unit}` },
        address
          ? image(address, { alt: `errors of ${name} on ${scene}`, loading: "lazy", onerror: hide })
          : h("span", { class: "no-picture" }, "no map"),
        h("span", { class: "where" }, scene),
        h("span", {}, digits(value)),
      ),
    );
  };
  return put(
    element,
    h(
      "div",
      { class: "row" },
      h("h2", {}, "Every scene at a glance"),
      choose(
        columns.map((one) => columnOption(context, one)),
        column.id,
        (value) => state.update({ glance: value }),
        { "aria-label": "Column of the grid", id: "glance-column" },
      ),
      h(
        "span",
        { class: "hint" },
        "absolute error, 0 to 5 px · hatched: no estimate · black: no truth · click to open",
      ),
    ),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Scenes at a glance" },
      h(
        "table",
        { class: `glance${table.scenes.length <= ROOMY ? " roomy" : ""}` },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { class: "text", scope: "col" }, "algorithm"),
            h(
              "th",
              { scope: "col", class: "words" },
              columnWords(context, column),
              h("span", { class: "unit" }, idMark(column.label), ` ${column.unit}`),
            ),
            h("th", { scope: "col" }, "complete", h("span", { class: "unit" }, "of the pixels")),
            table.scenes.map((scene) =>
              h("th", { scope: "col" }, h("a", { href: state.address({ scene, pane: null }, "scene") }, scene)),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          shown.map((one) =>
            h(
              "tr",
              {},
              h(
                "th",
                { class: "text", scope: "row" },
                badge(context.styles.get(one.name)),
                h("a", { href: state.address({ name: one.name }, "algorithm") }, one.name),
              ),
              h(
                "td",
                { class: table.faint[one.row][place] ? "faint" : null, "data-label": column.label },
                digits(table.values[one.row][place]),
              ),
              h("td", { "data-label": "complete" }, percent(table.coverage[one.row][place])),
              table.scenes.map((scene, at) => cell(one, scene, at)),
            ),
          ),
        ),
      ),
    ),
    !all &&
      h(
        "p",
        {},
        h("button", { type: "button", onclick: () => state.update({ rows: "all" }) }, `show all ${order.length}`),
      ),
  );
}

const hide = (event) => event.target.replaceWith(h("span", { class: "no-picture" }, "no picture"));
