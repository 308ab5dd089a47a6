// Relations between metrics: r² between columns, scatter plots with a line per scene, histograms.

import { ask, latest, Problem } from "../api.js";
import { badge, behind } from "../diagrams.js";
import { choose, h, put } from "../dom.js";
import { digits } from "../format.js";
import { plain, plot } from "../plots.js";
import { chosenColumns } from "../selection.js";
import * as state from "../state.js";
import { refused } from "../states.js";
import { ink, shown } from "../theme.js";

const SCENE_COLOURS = [
  "#0072B2",
  "#D55E00",
  "#009E73",
  "#CC79A7",
  "#56B4E9",
  "#E69F00",
  "#777777",
  "#8a6d3b",
  "#5b5ea6",
  "#2f7f7f",
];
const MOST_SCATTER = 4;
const MOST_LABELS = 40;
const MOST_NAMES = 40;

export function create(root, context) {
  const map = h("div", { class: "plot", id: "r-squared" });
  const mapTable = h("div", {});
  const scatterHead = h("div", { class: "row" });
  const scatterKey = h("div", { id: "scatter-key" });
  const scatter = h("div", { class: "plot", id: "scatter" });
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
          .filter((id, place) => columns.findIndex((other) => other.split(":")[0] === id.split(":")[0]) === place)
          .slice(0, 3);
  }

  async function refresh() {
    const columns = picked();
    const params = state.selection();
    for (const y of columns) for (const x of columns) if (x !== y) params.append("scatter", `${x}~${y}`);
    try {
      const answer = await correlation((signal) => ask("correlation", params, { signal }));
      if (answer) await Promise.all([drawMap(answer), drawScatter(answer, columns)]);
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.allowed.length) throw problem;
      put(mapTable, refused(problem));
    }
    await drawHistogram();
  }

  async function drawMap(answer) {
    const names = answer.columns;
    const side = Math.max(300, Math.min(880, 130 + names.length * 26));
    map.style.height = `${Math.min(side, 760)}px`;
    map.style.maxWidth = `${Math.max(520, side + 160)}px`;
    await plot(
      map,
      [
        {
          type: "heatmap",
          x: names.map(plain),
          y: names.map(plain),
          z: answer.r_squared,
          zmin: 0,
          zmax: 1,
          colorscale: "Cividis",
          xgap: 1,
          ygap: 1,
          text: answer.r_squared.map((row) => row.map((value) => (value === null ? "" : value.toFixed(2)))),
          texttemplate: names.length <= 16 ? "%{text}" : "",
          textfont: { size: 10 },
          hovertemplate: "%{y}<br>%{x}<br>r² = %{z:.3f}<extra></extra>",
          colorbar: { thickness: 10, len: 0.6, title: { text: "r²" } },
        },
      ],
      {
        xaxis: { side: "bottom", tickangle: -45, showgrid: false, showticklabels: names.length <= MOST_LABELS },
        yaxis: { autorange: "reversed", showgrid: false, showticklabels: names.length <= MOST_LABELS },
        margin: { l: 110, r: 10, t: 6, b: 90 },
      },
    );
    map.removeAllListeners?.("plotly_click");
    map.on("plotly_click", (event) => {
      const [x, y] = [names[event.points[0].pointIndex[1]], names[event.points[0].pointIndex[0]]];
      if (x !== y) state.update({ plot: [x, y] });
    });
    put(
      mapTable,
      behind(
        ["column", ...names],
        names.map((name, row) => [name, ...answer.r_squared[row]]),
      ),
    );
  }

  function drawHead(columns) {
    const all = chosenColumns(context);
    const set = (place) => (value) => {
      const next = [...columns];
      next[place] = value;
      state.update({ plot: next });
    };
    put(
      scatterHead,
      h("h2", {}, "Scatter plots"),
      columns.map((id, place) =>
        choose(
          all.map((one) => [one.id, one.label]),
          id,
          set(place),
          { "aria-label": `Column ${place + 1}`, "data-plot": place },
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
        "colour = scene, shape = algorithm; line opacity = r² of the scene's fit; click a point to open its scene",
      ),
    );
  }

  function drawKey(answer, colour) {
    const some = (names, mark) => [
      names.slice(0, MOST_NAMES).map((name) => h("span", {}, mark(name), name)),
      names.length > MOST_NAMES && h("span", { class: "hint" }, `and ${names.length - MOST_NAMES} more`),
    ];
    put(
      scatterKey,
      h(
        "div",
        { class: "key" },
        some(answer.scenes, (name) => h("i", { class: "swatch", style: { background: shown(colour.get(name)) } })),
      ),
      h(
        "div",
        { class: "key" },
        some(answer.algorithms, (name) => badge({ marker: context.styles.get(name)?.marker, colour: ink("muted") })),
      ),
    );
  }

  const unit = (id) => context.columns.find((one) => one.id === id)?.unit;
  const labelled = (id) => `${id}${unit(id) ? ` [${unit(id)}]` : ""}`;

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

  async function drawScatter(answer, columns) {
    drawHead(columns);
    const size = columns.length;
    const colour = new Map(answer.scenes.map((name, place) => [name, SCENE_COLOURS[place % SCENE_COLOURS.length]]));
    drawKey(answer, colour);
    const traces = [];
    const layout = { annotations: [], margin: { l: 60, r: 10, t: 10, b: 46 }, hovermode: "closest" };
    const gap = 0.05;
    const span = (1 - gap * (size - 1)) / size;
    const single = size === 2;
    const cells = single
      ? [[0, 1]]
      : columns.flatMap((_, row) => columns.map((__, column) => [column, row])).filter(([x, y]) => x !== y);
    cells.forEach(([column, row], place) => {
      const own = answer.scatter.find((one) => one.x === columns[column] && one.y === columns[row]);
      if (!own) return;
      const suffix = place ? String(place + 1) : "";
      const x0 = single ? 0 : column * (span + gap);
      const y0 = single ? 0 : 1 - (row + 1) * span - row * gap;
      layout[`xaxis${suffix}`] = {
        domain: [x0, single ? 1 : x0 + span],
        anchor: `y${suffix}`,
        title: {
          text: single || row === size - 1 ? plain(`${own.x}${own.x_unit ? ` [${own.x_unit}]` : ""}`) : "",
          standoff: 4,
        },
      };
      layout[`yaxis${suffix}`] = {
        domain: [y0, single ? 1 : y0 + span],
        anchor: `x${suffix}`,
        title: {
          text: single || column === 0 ? plain(`${own.y}${own.y_unit ? ` [${own.y_unit}]` : ""}`) : "",
          standoff: 4,
        },
      };
      layout.annotations.push({
        text: `r² ${digits(own.r_squared)}`,
        showarrow: false,
        xref: `x${suffix} domain`,
        yref: `y${suffix} domain`,
        x: 0.02,
        y: 0.99,
        xanchor: "left",
        yanchor: "top",
        font: { size: 11 },
      });
      answer.scenes.forEach((scene, at) => {
        const xs = own.x_values.map((line) => line[at]);
        const ys = own.y_values.map((line) => line[at]);
        traces.push({
          type: "scatter",
          mode: "markers",
          x: xs,
          y: ys,
          xaxis: `x${suffix}`,
          yaxis: `y${suffix}`,
          customdata: answer.algorithms.map((name) => [scene, name]),
          marker: {
            color: shown(colour.get(scene)),
            size: 7,
            symbol: answer.algorithms.map((name) => context.styles.get(name)?.marker ?? "circle"),
          },
          hovertemplate: answer.algorithms.map(
            (name) => `${plain(name)} on ${plain(scene)}<br>%{x:.4g}, %{y:.4g}<extra></extra>`,
          ),
        });
        const fit = own.fits[at];
        const known = xs.filter((value) => value !== null);
        if (fit.slope === null || known.length < 2) return;
        const ends = [Math.min(...known), Math.max(...known)];
        traces.push({
          type: "scatter",
          mode: "lines",
          x: ends,
          y: ends.map((value) => fit.slope * value + fit.intercept),
          xaxis: `x${suffix}`,
          yaxis: `y${suffix}`,
          line: { color: shown(colour.get(scene)), width: 1.3 },
          opacity: Math.max(0.06, fit.r_squared),
          hoverinfo: "skip",
        });
      });
    });
    for (const [place, id] of single ? [] : columns.entries()) {
      layout.annotations.push({
        text: [...id.split(":"), unit(id) ? `[${unit(id)}]` : ""].filter(Boolean).map(plain).join("<br>"),
        showarrow: false,
        xref: "paper",
        yref: "paper",
        x: place * (span + gap) + span / 2,
        y: 1 - place * (span + gap) - span / 2,
        font: { size: 13 },
      });
    }
    scatter.style.height = `${single ? 430 : Math.min(940, 250 * size)}px`;
    await plot(scatter, traces, layout);
    put(
      scatterTable,
      behind(["scene", "algorithm", ...columns.map(labelled)], () => scores(answer, columns)),
    );
    scatter.removeAllListeners?.("plotly_click");
    scatter.on("plotly_click", (event) => {
      const [scene, algorithm] = event.points[0].customdata;
      state.update(
        { scene, pane: [`estimate~${encodeURIComponent(algorithm)}`, `error~${encodeURIComponent(algorithm)}`] },
        { target: "scene" },
      );
    });
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
        all.map((one) => [one.id, one.label]),
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
      const middles = answer.counts.map((_, place) => (answer.edges[place] + answer.edges[place + 1]) / 2);
      const shapes = (answer.marked[mark] ?? [])
        .filter((value) => value !== null)
        .map((value) => ({
          type: "line",
          x0: value,
          x1: value,
          yref: "paper",
          y0: 0,
          y1: 1,
          line: { color: shown(context.styles.get(mark)?.colour ?? "#000000"), width: 1.5 },
        }));
      const reach = answer.heuristic?.[1];
      if (reach !== null && reach !== undefined && reach <= answer.edges.at(-1) * 1.5)
        shapes.push({
          type: "line",
          x0: reach,
          x1: reach,
          yref: "paper",
          y0: 0,
          y1: 1,
          line: { color: "#888888", width: 1, dash: "dot" },
        });
      histogram.style.height = "240px";
      await plot(
        histogram,
        [
          {
            type: "bar",
            x: middles,
            y: answer.counts,
            width: middles.map((_, place) => 0.96 * (answer.edges[place + 1] - answer.edges[place])),
            marker: { color: "#8aa4b5" },
            hovertemplate: middles.map(
              (_, place) => `${digits(answer.edges[place])} – ${digits(answer.edges[place + 1])}: %{y}<extra></extra>`,
            ),
          },
        ],
        { shapes, xaxis: { title: { text: plain(labelled(answer.column)) } }, yaxis: { title: { text: "scores" } } },
      );
      put(
        histogramTable,
        h(
          "p",
          { class: "caption" },
          "One score per algorithm and scene.",
          shapes.length > (answer.marked[mark] ?? []).filter((value) => value !== null).length &&
            " Dotted: the largest value that real algorithms reach; by default, weighted scores are divided by it.",
          mark && ` Lines: the scores of ${mark}.`,
        ),
        behind(
          ["from", "to", "scores"],
          answer.counts.map((count, place) => [answer.edges[place], answer.edges[place + 1], count]),
        ),
      );
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
    }
  }

  return { refresh, restyle: refresh };
}
