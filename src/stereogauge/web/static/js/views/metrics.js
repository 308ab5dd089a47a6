// Relations between metrics: r² between columns, scatter plots with a line per scene, histograms. The figures are the
// server's.

import { ask, isStatic, latest, Problem } from "../api.js";
import { badge, chart } from "../chart.js";
import { behind } from "../diagrams.js";
import { choose, h, put } from "../dom.js";
import { digits } from "../format.js";
import { chosenColumns } from "../selection.js";
import * as state from "../state.js";
import { refused } from "../states.js";
import { ink, shown } from "../theme.js";
import { columnOption } from "../words.js";

const MOST_SCATTER = 4;
const MOST_NAMES = 40;

export function create(root, context) {
  const map = h("div", { class: "scroll", id: "r-squared", tabindex: 0, role: "region", "aria-label": "r²" });
  const mapTable = h("div", {});
  const scatterHead = h("div", { class: "row" });
  const scatterKey = h("div", { id: "scatter-key" });
  const scatter = h("div", { class: "split", id: "scatter" });
  const scatterTable = h("div", {});
  const histogramHead = h("div", { class: "row" });
  const histogram = h("div", { class: "plot", id: "histogram" });
  const histogramTable = h("div", {});
  put(
    root,
    h(
      "div",
      { class: "row" },
      h("h1", {}, "How much one metric says about another"),
      h(
        "span",
        { class: "hint" },
        "r² of linear fits over all (scene, algorithm) points; click a cell to plot the pair",
      ),
    ),
    map,
    mapTable,
    h("div", { class: "section" }, scatterHead, scatterKey, scatter, scatterTable),
    h("div", { class: "section" }, histogramHead, histogram, histogramTable),
  );
  const correlation = latest();
  const pairs = latest();
  const counts = latest();

  function picked() {
    const columns = chosenColumns(context).map((one) => one.id);
    const stated = state
      .all("plot")
      .filter((id) => columns.includes(id))
      .slice(0, MOST_SCATTER);
    return stated.length > 1
      ? stated
      : columns
          .filter((id, index) => columns.findIndex((other) => other.split(":")[0] === id.split(":")[0]) === index)
          .slice(0, 3);
  }

  async function refresh() {
    const columns = picked();
    const plotted = state.selection();
    columns.forEach((x, index) => {
      for (const y of columns.slice(index + 1)) plotted.append("scatter", `${x}~${y}`);
    });
    drawHead(columns);
    try {
      // A copy holds the map and the plots as one answer.
      const params = isStatic ? plotted : state.selection();
      const answer = await correlation((signal) => ask("correlation", params, { signal }));
      if (!answer) return;
      below(plotted, columns);
      drawHistogram();
      drawMap(answer);
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.allowed.length) throw problem;
      put(mapTable, refused(problem));
      await drawHistogram();
    }
  }

  // What stands below the map comes after it and does not hold it up.
  async function below(params, columns) {
    try {
      const answer = await pairs((signal) => ask("correlation", params, { signal }));
      if (answer) drawScatter(answer, columns);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      put(scatterTable, refused(problem));
    }
  }

  function drawMap(answer) {
    const ids = answer.columns;
    const names = [...new Set(answer.figure.data.values.map((one) => one.row))];
    chart(map, answer.figure, {
      label: "r² between columns",
      onPoint: ({ row, column }) => {
        if (row !== column) state.update({ plot: [column, row].map((name) => ids[names.indexOf(name)]) });
      },
    });
    put(
      mapTable,
      behind(["column", ...ids], () => ids.map((id, row) => [id, ...answer.r_squared[row]])),
    );
  }

  function drawHead(columns) {
    const all = chosenColumns(context);
    const set = (index) => (value) => {
      const next = [...columns];
      next[index] = value;
      state.update({ plot: next });
    };
    put(
      scatterHead,
      h("h2", {}, "Scatter plots"),
      columns.map((id, index) =>
        choose(
          all.map((one) => columnOption(context, one)),
          id,
          set(index),
          { "aria-label": `Column ${index + 1}`, "data-plot": index },
        ),
      ),
      h(
        "button",
        {
          type: "button",
          disabled: columns.length >= MOST_SCATTER,
          onclick: () =>
            state.update({ plot: [...columns, all.find((one) => !columns.includes(one.id))?.id ?? all[0].id] }),
        },
        "+",
      ),
      h(
        "button",
        { type: "button", disabled: columns.length < 3, onclick: () => state.update({ plot: columns.slice(0, -1) }) },
        "−",
      ),
      h(
        "span",
        { class: "hint" },
        "colour: scene, shape: algorithm; a click opens it; drag moves, Shift + wheel zooms, double click resets",
      ),
    );
  }

  function drawKey(answer) {
    const { domain = [], range = [] } = answer.scatter[0]?.figure.layer.at(-1).encoding.color.scale ?? {};
    const colour = (scene) => shown(range[domain.indexOf(scene)] ?? "#888888");
    const some = (names, mark) => [
      names.slice(0, MOST_NAMES).map((name) => h("span", {}, mark(name), name)),
      names.length > MOST_NAMES && h("span", { class: "hint" }, `and ${names.length - MOST_NAMES} more`),
    ];
    put(
      scatterKey,
      h(
        "div",
        { class: "key" },
        some(answer.scenes, (name) => h("i", { class: "swatch", style: { background: colour(name) } })),
      ),
      h(
        "div",
        { class: "key" },
        some(answer.algorithms, (name) => badge({ shape: context.styles.get(name)?.shape, colour: ink("muted") })),
      ),
    );
  }

  const labelled = (id) => {
    const unit = context.columns.find((one) => one.id === id)?.unit;
    return unit ? `${id} [${unit}]` : id;
  };

  // Every score that is drawn, as numbers.
  function scores(answer, columns) {
    const values = columns.map(
      (id) =>
        answer.scatter.find((one) => one.x === id)?.x_values ?? answer.scatter.find((one) => one.y === id)?.y_values,
    );
    return answer.scenes.flatMap((scene, at) =>
      answer.algorithms.map((name, row) => [scene, name, ...values.map((own) => own?.[row][at] ?? null)]),
    );
  }

  function drawScatter(answer, columns) {
    drawKey(answer);
    const plots = answer.scatter.map(() => h("div", { class: "plot" }));
    put(
      scatter,
      plots.map((plot, index) =>
        h(
          "div",
          {},
          h(
            "p",
            { class: "caption" },
            `r² ${digits(answer.scatter[index].r_squared)}; a line is a scene's fit, the fainter the lower its r²`,
          ),
          plot,
        ),
      ),
    );
    put(
      scatterTable,
      behind(["scene", "algorithm", ...columns.map(labelled)], () => scores(answer, columns)),
    );
    for (const [index, plot] of plots.entries()) drawPair(plot, answer.scatter[index], plots.length);
  }

  function drawPair(plot, pair, count) {
    const open = (row) => {
      if (!row.algorithm) return;
      const algorithm = encodeURIComponent(row.algorithm);
      const metric = pair.x.split(":")[0];
      const drawn = context.catalogue.metrics.find((one) => one.id === metric.split("@")[0])?.picture;
      const second = drawn ? `metric~${algorithm}~${encodeURIComponent(metric)}` : `error~${algorithm}`;
      state.update({ scene: row.scene, column: pair.x, pane: [`estimate~${algorithm}`, second] }, { target: "scene" });
    };
    const label = `Scatter plot of ${pair.x} and ${pair.y}`;
    chart(plot, pair.figure, { label, height: count > 1 ? 260 : 360, onPoint: open });
  }

  async function drawHistogram() {
    const all = chosenColumns(context);
    const column = all.find((one) => one.id === state.get("histogram")) ?? all[0];
    const names = context.algorithms.map((one) => one.name);
    const mark = names.includes(state.get("mark")) ? state.get("mark") : "";
    put(
      histogramHead,
      h("h2", {}, "Histogram of scores"),
      choose(
        all.map((one) => columnOption(context, one)),
        column?.id,
        (value) => state.update({ histogram: value }),
        { "aria-label": "Column of the histogram" },
      ),
      h(
        "label",
        {},
        "mark ",
        choose([["", "no algorithm"], ...names], mark, (value) => state.update({ mark: value || null }), {
          "aria-label": "Algorithm to mark",
          id: "mark",
        }),
      ),
    );
    if (!column) return;
    const params = state.selection();
    params.set("metric", column.id);
    if (mark) params.append("mark", mark);
    try {
      const answer = await counts((signal) => ask("histogram", params, { signal }));
      if (!answer) return;
      chart(histogram, answer.figure, { label: `Histogram of ${column.id}`, height: 190 });
      put(
        histogramTable,
        h(
          "p",
          { class: "caption" },
          "One score per algorithm and scene.",
          answer.figure.layer.some((one) => one.mark.type === "rule") &&
            " Dashed: the largest value that real algorithms reach; by default, weighted scores are divided by it.",
          mark && ` The marker on the axis is the mean score of ${mark}.`,
        ),
        behind(
          ["from", "to", "scores"],
          answer.counts.map((count, index) => [answer.edges[index], answer.edges[index + 1], count]),
        ),
      );
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
    }
  }

  return { refresh, restyle: refresh };
}
